package service

import (
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Keys are an operator's private keys by the text form of their public ones. A
// plan names public keys, so that old and new keys may lie side by side: that is
// rotation with overlap.
type Keys struct {
	Open map[string]envelope.PrivateKey
	Sign map[string]wire.SignKey
}

// ReadKeys reads every key file (*.json) of a folder. Keys of another use, such
// as an issuer's, are passed over.
func ReadKeys(dir string) (Keys, error) {
	keys := Keys{Open: map[string]envelope.PrivateKey{}, Sign: map[string]wire.SignKey{}}
	files, err := keyfile.ReadFolder(dir)
	if err != nil {
		return Keys{}, err
	}
	for path, file := range files {
		switch {
		case envelope.Suite(file.Suite).Validate() == nil:
			f, err := envelope.ReadKeyFile(path)
			if err != nil {
				return Keys{}, err
			}
			keys.Open[f.Key.Public().String()] = f.Key
		case file.Suite == "ed25519":
			key, _, err := wire.ReadSignKeyFile(path)
			if err != nil {
				return Keys{}, err
			}
			keys.Sign[key.Public().String()] = key
		}
	}
	return keys, nil
}
