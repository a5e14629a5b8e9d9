package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

const fileFormat = "confetti-sessions/v1"

// maxFile bounds what is read of a file: it has 256 sessions at most.
const maxFile = 1 << 20

// file is sessions at rest. Who reads it can open none of them.
type file struct {
	Format   string `json:"format"`
	Sessions []kept `json:"sessions"`
}

type kept struct {
	Hash  string    `json:"hash"` // SHA-256 of the cookie, in hexadecimal
	Name  string    `json:"name"`
	Since time.Time `json:"since"`
}

// Open returns New with sessions that outlast the program in a file, which only its owner can read and which is
// made where there is none. It restores sessions that have not expired and whose operator still exists (knows).
func Open(link time.Duration, now func() time.Time, path string, knows func(name string) bool) (*Sessions, error) {
	s := New(link, now)
	text, err := read(path)
	if err == nil {
		s.open, err = parse(text)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("session: %s: %w", path, err)
	}
	for key, one := range s.open {
		if !knows(one.Name) {
			delete(s.open, key)
		}
	}
	s.keep = func(open byHash) error { return atomicfile.Replace(path, format(open), 0o600) }
	if err := s.written(); err != nil { // or a disk that takes nothing would show when somebody logs in
		return nil, fmt.Errorf("session: %w", err)
	}
	return s, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, errDamaged
	}
	return os.ReadFile(path)
}

var errDamaged = errors.New("not a file of sessions: move it away, and operators log in again")

func parse(text []byte) (byHash, error) {
	var f file
	if strictjson.JSON(text, &f) != nil || f.Format != fileFormat || len(f.Sessions) > most {
		return nil, errDamaged
	}
	open := byHash{}
	for _, one := range f.Sessions {
		hash, err := hex.DecodeString(one.Hash)
		if err != nil || len(hash) != sha256.Size || one.Name == "" {
			return nil, errDamaged
		}
		open[[sha256.Size]byte(hash)] = Session{Name: one.Name, since: one.Since}
	}
	return open, nil
}

// format returns the one form of sessions, the oldest first.
func format(open byHash) []byte {
	f := file{Format: fileFormat, Sessions: []kept{}}
	for key, one := range open {
		f.Sessions = append(f.Sessions, kept{hex.EncodeToString(key[:]), one.Name, one.since.UTC()})
	}
	slices.SortFunc(f.Sessions, func(a, b kept) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return bytes.Compare([]byte(a.Hash), []byte(b.Hash))
	})
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		panic("session: " + err.Error()) // names and times always encode
	}
	return append(text, '\n')
}
