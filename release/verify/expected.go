package verify

import (
	"errors"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Expected reads whom somebody expects: the text of a file of publishers, or public keys set apart by white
// space; nil for none.
func Expected(text string) (*plan.Publishers, error) {
	keys := strings.Fields(text)
	if len(keys) == 0 {
		return nil, nil
	}
	var trusted plan.Publishers
	var err error
	if strings.HasPrefix(keys[0], "ed25519:") {
		for _, key := range keys {
			if !strings.HasPrefix(key, "ed25519:") {
				return nil, errors.New("publishers are public keys in the form ed25519:..., or the text of a file of publishers")
			}
		}
		trusted = plan.Trust(keys...)
	} else if trusted, err = plan.ParsePublishers([]byte(text)); err != nil {
		return nil, err
	}
	return &trusted, nil
}
