// Package keyfile keeps a private key at rest: one strict JSON document per key, whatever its suite, in a file that
// only its owner may read. Used by internal/keyfile/partykey for keys of three kinds, and by internal/service and cmd.
package keyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/strictjson"
)

const (
	format  = "confetti-private-key/v1"
	maxSize = 1 << 14 // bytes; an X-Wing file has about 2,000, one of RSA-2048 about 2,500
)

// File is a private key as it rests on disk. Whether the two keys belong
// together only their suite's package can tell.
type File struct {
	Suite      string // such as "x25519" or "rsa2048"
	Purpose    string // for people: whose key it is
	PublicKey  string // text form, suite:base64url
	PrivateKey []byte // as the suite serializes it

	// Made is when Create or Replace wrote the file, by what it says itself: a copy that is put
	// back says the same. It is zero where the file does not say.
	Made time.Time
}

// document is the JSON form.
type document struct {
	Format     string `json:"format"`
	Suite      string `json:"suite"`
	Purpose    string `json:"purpose"`
	ID         string `json:"id"`
	PublicKey  string `json:"public_key"`
	PrivateKey string `json:"private_key"`
	Made       string `json:"made,omitempty"`
}

// Create writes the file whole, with mode 0600, or not at all. A file that
// exists already is left as it is; the error is then fs.ErrExist.
func Create(path string, f File) error {
	err := atomicfile.Create(path, f.text(), 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keyfile: write %s: %w: choose another name, or say that it may be replaced (what was sealed to the old key is then lost)", path, fs.ErrExist)
	}
	return prefixed(err)
}

// Replace is Create for callers who have been told to overwrite.
func Replace(path string, f File) error { return prefixed(atomicfile.Replace(path, f.text(), 0o600)) }

func prefixed(err error) error {
	if err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	return nil
}

func (f File) text() []byte {
	text, err := json.MarshalIndent(document{
		Format:     format,
		Suite:      f.Suite,
		Purpose:    f.Purpose,
		ID:         keytext.ID(f.PublicKey),
		PublicKey:  f.PublicKey,
		PrivateKey: keytext.Base64.EncodeToString(f.PrivateKey),
		Made:       time.Now().UTC().Format(time.RFC3339),
	}, "", "  ")
	if err != nil {
		panic("keyfile: " + err.Error()) // strings always encode
	}
	return append(text, '\n')
}

// Read reads a file that Create wrote. It refuses a file that others may read,
// except on Windows, where the mode does not say.
func Read(path string) (File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("keyfile: there is none at %s: check the path, or make a key there with confetti keys new: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return File{}, fmt.Errorf("keyfile: read: %w", err)
	}
	defer file.Close()
	status, err := file.Stat()
	if err != nil {
		return File{}, fmt.Errorf("keyfile: read: %w", err)
	}
	if !status.Mode().IsRegular() {
		return File{}, fmt.Errorf("keyfile: %s is not a regular file", path)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return File{}, fmt.Errorf("keyfile: %s is open to others (mode %04o): make it private with chmod 600, or make a new key if others may have read it", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil {
		return File{}, fmt.Errorf("keyfile: read: %w", err)
	}
	f, err := parse(text)
	if err != nil {
		return File{}, fmt.Errorf("keyfile: %s: %w", path, err)
	}
	return f, nil
}

// ReadFolder reads every key file (*.json) of a folder, by its path. The error
// tells of those that cannot be read; the others come all the same.
func ReadFolder(dir string) (map[string]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("keyfile: folder of keys: %w", err)
	}
	files := map[string]File{}
	var unread error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if filepath.Ext(path) != ".json" {
			continue
		}
		f, err := Read(path)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		files[path] = f
	}
	return files, unread
}

func parse(text []byte) (File, error) {
	if len(text) > maxSize {
		return File{}, fmt.Errorf("more than %d bytes: this is no key file", maxSize)
	}
	var doc document
	if strictjson.JSON(text, &doc) != nil {
		// Not wrapped: the decoder may quote the text, which holds the key.
		return File{}, errors.New("not the JSON of a key file: restore it from a copy, or make a new key")
	}
	if doc.Format != format {
		return File{}, fmt.Errorf("the format is not %q", format)
	}
	raw, err := keytext.Base64.DecodeString(doc.PrivateKey)
	if err != nil {
		return File{}, errors.New("the private key is not base64url without padding")
	}
	if doc.ID != keytext.ID(doc.PublicKey) {
		return File{}, errors.New("the id does not belong to the public key: the file was damaged or edited")
	}
	var made time.Time
	if doc.Made != "" {
		if made, err = time.Parse(time.RFC3339, doc.Made); err != nil || doc.Made != made.UTC().Format(time.RFC3339) {
			return File{}, errors.New("when the key was made is not in the form 2027-01-31T12:00:00Z")
		}
	}
	return File{Suite: doc.Suite, Purpose: doc.Purpose, PublicKey: doc.PublicKey, PrivateKey: raw, Made: made}, nil
}

// Name is what may be told of a private key: nothing of it is private.
type Name struct {
	ID      string    `json:"id"`
	Suite   string    `json:"suite"`
	Purpose string    `json:"purpose"`
	Since   time.Time `json:"since"` // when its file was written
	// Public is the other half, for a plan that is to name it.
	Public string `json:"public_key"`
}

// Names returns those of the keys of a folder, by the order of their files; none for an empty path.
// Files that cannot be read are not there: ReadFolder says why.
func Names(dir string) (all []Name) {
	if dir == "" {
		return nil
	}
	files, _ := ReadFolder(dir)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		n := Name{ID: keytext.ID(files[path].PublicKey), Suite: files[path].Suite, Purpose: files[path].Purpose, Public: files[path].PublicKey}
		if status, err := os.Stat(path); err == nil {
			n.Since = status.ModTime().UTC()
		}
		all = append(all, n)
	}
	return all
}
