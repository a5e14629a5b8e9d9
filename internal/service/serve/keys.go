package serve

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// An operator's private keys lie in one folder of key files (*.json), and are found by the
// text form of their public ones. A plan names public keys, so that old and new keys may
// lie side by side: that is rotation with overlap. Keys of another use are passed over.
// An error tells of those that cannot be read; the others come all the same.

// OpeningKeys returns those that open envelopes, of hops and analyzers.
func OpeningKeys(folder string) (map[string]envelope.PrivateKey, error) {
	return readKeys(folder, func(suite string) bool { return envelope.Suite(suite).Validate() == nil }, func(path string) (envelope.PrivateKey, error) {
		key, _, err := partykey.ReadOpening(path)
		return key, err
	})
}

// SigningKeys returns those that sign: receipts of a hop, releases of an analyzer.
func SigningKeys(folder string) (map[string]relay.SignKey, error) {
	return readKeys(folder, func(suite string) bool { return suite == relay.SignSuite }, func(path string) (relay.SignKey, error) {
		key, _, err := partykey.ReadSigning(path)
		return key, err
	})
}

// TokenKeys returns those that sign tokens.
func TokenKeys(folder string) (map[string]token.PrivateKey, error) {
	return readKeys(folder, func(suite string) bool { return suite == token.Suite }, func(path string) (token.PrivateKey, error) {
		key, _, err := partykey.ReadTokens(path)
		return key, err
	})
}

func readKeys[K any](folder string, ours func(suite string) bool, read func(path string) (K, error)) (map[string]K, error) {
	files, unread := keyfile.ReadFolder(folder)
	keys := map[string]K{}
	for path, file := range files {
		if !ours(file.Suite) {
			continue
		}
		key, err := read(path)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		keys[file.PublicKey] = key
	}
	return keys, unread
}

// SigningKey returns the one in a folder that belongs to a public key, ed25519:base64url.
func SigningKey(folder, public string) (relay.SignKey, error) {
	keys, err := SigningKeys(folder)
	key, there := keys[public]
	if !there {
		return key, errors.Join(err, fmt.Errorf("no private key of %q is there: name a public key of one, see confetti keys new --for receipts", public))
	}
	return key, nil
}
