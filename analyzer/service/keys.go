package service

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
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

// receiptKeys are the public keys that a plan's hops sign receipts with, by
// instance and hop; the zero key where the plan names none.
func receiptKeys(p plan.Plan) ([][]wire.VerifyKey, error) {
	var all [][]wire.VerifyKey
	for i, in := range p.Route.Mix.Instances {
		keys := make([]wire.VerifyKey, len(in.Hops))
		for h, hop := range in.Hops {
			if hop.Receipts == "" {
				continue
			}
			var err error
			if keys[h], err = wire.ParseVerifyKey(hop.Receipts); err != nil {
				return nil, fmt.Errorf("service: receipt key of hop %d of instance %d: %w", h+1, i+1, err)
			}
		}
		// Whoever knows the analyzer's public key can seal a batch to it.
		if keys[len(keys)-1].IsZero() {
			return nil, fmt.Errorf("service: the plan names no receipt key for the last hop of instance %d, without which nobody could tell whose batch it is", i+1)
		}
		all = append(all, keys)
	}
	return all, nil
}
