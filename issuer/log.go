package issuer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A mark says that a respondent's request under a key was signed, in hashes that
// the issuer's secret keys: who and what, nobody else can tell or forge.
type mark struct{ who, what [16]byte }

// markLog is the append-only file of a plan's marks:
//
//	confetti-issued/v1 and a line break
//	who (16) || what (16) || CRC-32C of both (4), for each mark
//
// A mark is on disk before its request is answered. Marks that come while the
// disk is busy are written together, maxCommit of them at most.
type markLog struct {
	file *os.File

	mu      sync.Mutex
	known   map[[16]byte][16]byte // who to what, those not yet on disk included
	size    int64                 // of the file, as far as it is on disk
	pending *commit               // is gathering
	writing bool
	broken  error // what is on disk is not known: nothing more is answered
	write   func(b []byte, at int64) error
}

// commit is marks that are written together.
type commit struct {
	marks []mark
	done  chan struct{} // closed when they are on disk, or err says why not
	err   error
}

const (
	logHeader = "confetti-issued/v1\n"
	markSize  = 36

	// maxCommit bounds how much of the end of a file a crash can have torn: what
	// is damaged before that was on disk once, and no crash does it.
	maxCommit = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (m mark) bytes() []byte {
	b := append(append(make([]byte, 0, markSize), m.who[:]...), m.what[:]...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// openLog reads the marks of the file, or makes it. What a crash has torn at its
// end was never answered, and goes.
func openLog(path string) (*markLog, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	l := &markLog{file: file, known: map[[16]byte][16]byte{}}
	l.write = l.writeFile
	if err := l.read(path); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

func (l *markLog) read(path string) error {
	text, err := io.ReadAll(l.file)
	if err != nil {
		return fmt.Errorf("issuer: read %s: %w", path, err)
	}
	if len(text) < len(logHeader) && bytes.HasPrefix([]byte(logHeader), text) {
		// New, or torn when it was. Its name must be on disk before any mark.
		if err := errors.Join(l.writeFile([]byte(logHeader), 0), durable.SyncFolder(filepath.Dir(path))); err != nil {
			return fmt.Errorf("issuer: begin %s: %w", path, err)
		}
		text = []byte(logHeader)
	}
	if !bytes.HasPrefix(text, []byte(logHeader)) {
		return fmt.Errorf("issuer: %s is no log of issued tokens: restore it from a copy", path)
	}
	at := len(logHeader)
	for ; at+markSize <= len(text); at += markSize {
		b := text[at : at+markSize]
		m := mark{[16]byte(b), [16]byte(b[16:])}
		if !bytes.Equal(m.bytes(), b) {
			break
		}
		if what, twice := l.known[m.who]; twice && what != m.what {
			return fmt.Errorf("issuer: %s says two things of one respondent: restore it from a copy", path)
		}
		l.known[m.who] = m.what
	}
	if len(text)-at > maxCommit*markSize {
		return fmt.Errorf("issuer: %s is damaged at byte %d, where no crash does it: restore it from a copy; without it respondents could be given a second token", path, at)
	}
	l.size = int64(at)
	if at < len(text) {
		if err := errors.Join(l.file.Truncate(l.size), l.file.Sync()); err != nil {
			return fmt.Errorf("issuer: cut the torn end off %s: %w", path, err)
		}
	}
	return nil
}

func (l *markLog) writeFile(b []byte, at int64) error {
	if _, err := l.file.WriteAt(b, at); err != nil {
		return err
	}
	return l.file.Sync()
}

// taken reports whether one of the marks is of a respondent whose other request
// was signed.
func (l *markLog) taken(marks []mark) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takenLocked(marks)
}

func (l *markLog) takenLocked(marks []mark) bool {
	for _, m := range marks {
		if what, there := l.known[m.who]; there && what != m.what {
			return true
		}
	}
	return false
}

// errTaken is the error of put for marks that are taken.
var errTaken = errors.New("issuer: another request was signed already")

// put makes sure that the marks are on disk, all or, with an error, none. The
// number says how many are new.
func (l *markLog) put(marks []mark) (int, error) {
	l.mu.Lock()
	if l.broken != nil {
		l.mu.Unlock()
		return 0, l.broken
	}
	if l.takenLocked(marks) {
		l.mu.Unlock()
		return 0, errTaken
	}
	c := l.pending
	if c == nil || len(c.marks)+len(marks) > maxCommit {
		if c != nil { // full: the disk is far behind
			l.mu.Unlock()
			return 0, wire.Problemf(wire.Overloaded, "the disk is behind")
		}
		c = &commit{done: make(chan struct{})}
		l.pending = c
	}
	fresh := 0
	for _, m := range marks {
		if _, there := l.known[m.who]; !there {
			l.known[m.who] = m.what
			c.marks = append(c.marks, m)
			fresh++
		}
	}
	// Even with nothing new: a mark that is known may be on its way to the disk,
	// in this commit or the one before it.
	if !l.writing {
		l.writing = true
		go l.commit()
	}
	l.mu.Unlock()
	<-c.done
	return fresh, c.err
}

// commit writes what is pending until nothing is.
func (l *markLog) commit() {
	for {
		l.mu.Lock()
		c := l.pending
		if c == nil {
			l.writing = false
			l.mu.Unlock()
			return
		}
		l.pending = nil
		l.mu.Unlock()

		var b []byte
		for _, m := range c.marks {
			b = append(b, m.bytes()...)
		}
		var err error
		if len(b) > 0 {
			err = l.write(b, l.size)
		}

		l.mu.Lock()
		if err == nil {
			l.size += int64(len(b))
			close(c.done)
			l.mu.Unlock()
			continue
		}
		l.fail(err, c)
		l.mu.Unlock()
	}
}

// fail takes back a commit that did not reach the disk, and the one that is
// gathering behind it, which may count on its marks. A full disk gives the file
// back as it was; after anything else nobody knows what is on disk.
func (l *markLog) fail(err error, failed *commit) {
	var answer error
	if errors.Is(err, syscall.ENOSPC) && l.file.Truncate(l.size) == nil && l.file.Sync() == nil {
		answer = wire.Problemf(wire.StorageFull, "the marks of issued tokens do not fit")
	} else {
		answer = fmt.Errorf("issuer: the log of issued tokens cannot be written, so that nothing more is signed until a restart: %w", err)
		l.broken = answer
	}
	for _, c := range []*commit{failed, l.pending} {
		if c == nil {
			continue
		}
		for _, m := range c.marks {
			delete(l.known, m.who)
		}
		c.err = answer
		close(c.done)
	}
	l.pending = nil
}

// len is how many marks there are.
func (l *markLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.known)
}

// healthy is why nothing can be written any more.
func (l *markLog) healthy() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *markLog) close() error { return l.file.Close() }
