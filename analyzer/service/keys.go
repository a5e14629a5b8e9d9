package service

import (
	"errors"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
)

// findKey looks for the private key of a public one among the key files (*.json)
// of a folder, which may hold keys of other plans and other uses: that is rotation
// with overlap.
func findKey(folder, public string) (envelope.PrivateKey, error) {
	files, unread := keyfile.ReadFolder(folder)
	for path, file := range files {
		if file.PublicKey == public {
			f, err := envelope.ReadKeyFile(path)
			return f.Key, err
		}
	}
	missing := errors.New("service: the private key of the plan's analyzer is not here: another service has that part, or the key is missing from the folder of keys")
	return envelope.PrivateKey{}, errors.Join(missing, unread)
}
