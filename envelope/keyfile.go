package envelope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	keyFormat      = "confetti-private-key/v1"
	maxKeyFileSize = 1 << 14 // bytes; an X-Wing file has about 2,000
)

// KeyFile is a private key as it rests on disk.
type KeyFile struct {
	Key     PrivateKey
	Purpose string // for people: whose key it is, such as "analyzer" or "hop 0 of instance 1"
}

// keyDocument is the JSON form. The public key is there for people and as a
// checksum: a file in which the two do not match is refused.
type keyDocument struct {
	Format     string `json:"format"`
	Suite      Suite  `json:"suite"`
	Purpose    string `json:"purpose"`
	ID         string `json:"id"`
	PublicKey  string `json:"public_key"`
	PrivateKey string `json:"private_key"`
}

// CreateKeyFile writes the file whole, with mode 0600, or not at all. A file
// that exists already is left as it is; the error is then fs.ErrExist.
func CreateKeyFile(path string, f KeyFile) error {
	// A hard link is the one way to name a finished file that fails when the
	// name is taken; a rename would replace it.
	return writeKeyFile(path, f, func(tmp string) error {
		err := os.Link(tmp, path)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%w: choose another name, or say that it may be replaced (what was sealed to the old key is then lost)", fs.ErrExist)
		}
		return err
	})
}

// ReplaceKeyFile is CreateKeyFile for callers who have been told to overwrite.
// What was sealed to the key of the old file can no longer be opened.
func ReplaceKeyFile(path string, f KeyFile) error {
	return writeKeyFile(path, f, func(tmp string) error { return os.Rename(tmp, path) })
}

func writeKeyFile(path string, f KeyFile, publish func(tmp string) error) error {
	if f.Key.key == nil {
		return fmt.Errorf("envelope: no private key to write to %s", path)
	}
	raw, err := f.Key.key().Bytes()
	if err != nil {
		return fmt.Errorf("envelope: write key file %s: this kind of key cannot be stored", path)
	}
	public := f.Key.Public()
	text, err := json.MarshalIndent(keyDocument{
		Format:     keyFormat,
		Suite:      f.Key.suite,
		Purpose:    f.Purpose,
		ID:         public.ID(),
		PublicKey:  public.String(),
		PrivateKey: base64url.EncodeToString(raw),
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("envelope: write key file %s: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".confetti-key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("envelope: write key file: %w", err)
	}
	defer os.Remove(tmp.Name()) // gone already after a rename
	_, err = tmp.Write(append(text, '\n'))
	// On disk before it has its name, or a crash could leave the name on nothing.
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = publish(tmp.Name())
	}
	if err != nil {
		return fmt.Errorf("envelope: write key file %s: %w", path, err)
	}
	return nil
}

// ReadKeyFile reads a file that CreateKeyFile wrote. It refuses a file that
// others may read, except on Windows, where the mode does not say.
func ReadKeyFile(path string) (KeyFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return KeyFile{}, fmt.Errorf("envelope: read key file: %w", err)
	}
	defer file.Close()
	status, err := file.Stat()
	if err != nil {
		return KeyFile{}, fmt.Errorf("envelope: read key file: %w", err)
	}
	if !status.Mode().IsRegular() {
		return KeyFile{}, fmt.Errorf("envelope: key file %s is not a regular file", path)
	}
	if mode := status.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return KeyFile{}, fmt.Errorf("envelope: key file %s is open to others (mode %04o): make it private with chmod 600, or make a new key if others may have read it", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFileSize+1))
	if err != nil {
		return KeyFile{}, fmt.Errorf("envelope: read key file: %w", err)
	}
	f, err := parseKeyFile(text)
	if err != nil {
		return KeyFile{}, fmt.Errorf("envelope: key file %s: %w", path, err)
	}
	return f, nil
}

func parseKeyFile(text []byte) (KeyFile, error) {
	if len(text) > maxKeyFileSize {
		return KeyFile{}, fmt.Errorf("more than %d bytes: this is no key file", maxKeyFileSize)
	}
	var doc keyDocument
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		// Not wrapped: the decoder may quote the text, which holds the key.
		return KeyFile{}, errors.New("not the JSON of a key file: restore it from a copy, or make a new key")
	}
	if _, err := d.Token(); err != io.EOF {
		return KeyFile{}, errors.New("something follows the key")
	}
	if doc.Format != keyFormat {
		return KeyFile{}, fmt.Errorf("the format is not %q", keyFormat)
	}
	raw, err := base64url.DecodeString(doc.PrivateKey)
	if err != nil {
		return KeyFile{}, errors.New("the private key is not base64url without padding")
	}
	key, err := newPrivateKey(doc.Suite, raw)
	if err != nil {
		return KeyFile{}, err
	}
	if public := key.Public(); doc.PublicKey != public.String() || doc.ID != public.ID() {
		return KeyFile{}, errors.New("the public key or id does not belong to the private key: the file was damaged or edited")
	}
	return KeyFile{Key: key, Purpose: doc.Purpose}, nil
}
