package service

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
)

// findKey looks for the private key of a public one among the key files (*.json)
// of a folder, which may hold keys of other plans and other uses: that is rotation
// with overlap.
func findKey(folder, public string) (envelope.PrivateKey, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return envelope.PrivateKey{}, fmt.Errorf("service: folder of keys: %w", err)
	}
	unread := errors.New("service: the private key of the plan's analyzer is not here: another service has that part, or the key is missing from the folder of keys")
	for _, path := range files {
		file, err := keyfile.Read(path)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		if file.PublicKey != public {
			continue
		}
		f, err := envelope.ReadKeyFile(path)
		return f.Key, err
	}
	return envelope.PrivateKey{}, unread
}
