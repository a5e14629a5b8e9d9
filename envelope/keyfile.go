package envelope

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/keyfile"
)

// KeyFile is a private key as it rests on disk.
type KeyFile struct {
	Key     PrivateKey
	Purpose string // for people: whose key it is, such as "analyzer" or "hop 0 of instance 1"
}

// CreateKeyFile writes the file whole, with mode 0600, or not at all. A file
// that exists already is left as it is; the error is then fs.ErrExist.
func CreateKeyFile(path string, f KeyFile) error { return f.write(path, keyfile.Create) }

// ReplaceKeyFile is CreateKeyFile for callers who have been told to overwrite.
// What was sealed to the key of the old file can no longer be opened.
func ReplaceKeyFile(path string, f KeyFile) error { return f.write(path, keyfile.Replace) }

func (f KeyFile) write(path string, write func(string, keyfile.File) error) error {
	if f.Key.key == nil {
		return fmt.Errorf("envelope: no private key to write to %s", path)
	}
	raw, err := f.Key.key().Bytes()
	if err != nil {
		return fmt.Errorf("envelope: write key file %s: this kind of key cannot be stored", path)
	}
	return write(path, keyfile.File{Suite: string(f.Key.suite), Purpose: f.Purpose, PublicKey: f.Key.Public().String(), PrivateKey: raw})
}

// ReadKeyFile reads a file that CreateKeyFile wrote. It refuses a file that
// others may read, except on Windows, where the mode does not say.
func ReadKeyFile(path string) (KeyFile, error) {
	f, err := keyfile.Read(path)
	if err != nil {
		return KeyFile{}, err
	}
	key, err := newPrivateKey(Suite(f.Suite), f.PrivateKey)
	if err != nil {
		return KeyFile{}, fmt.Errorf("envelope: key file %s: %w", path, err)
	}
	if key.Public().String() != f.PublicKey {
		return KeyFile{}, fmt.Errorf("envelope: key file %s: the public key does not belong to the private key: the file was damaged or edited", path)
	}
	return KeyFile{Key: key, Purpose: f.Purpose}, nil
}
