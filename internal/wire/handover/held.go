package handover

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/confetti-dp/confetti/internal/wire"
)

// Held is what a service knows of the batch of a leg, for its neighbours: whoever
// has been put back on an older copy of its disk learns so from them. It says no more
// than the public status and the receipts, which hold both digests.
type Held struct {
	// Received is the SHA-256 in hex of the batch that it took as the hop of the path,
	// or as the analyzer behind the last; Sent of the one that it handed to that hop
	// and that was acknowledged. Empty: none.
	Received string `json:"received,omitempty"`
	Sent     string `json:"sent,omitempty"`

	// Tokens are those that it counted for the batch that it sent.
	Tokens uint64 `json:"tokens,omitempty"`
}

// MaxHeld is the longest JSON of a Held, in bytes, generously.
const MaxHeld = 1 << 10

// ParseHeld reads the JSON of a Held.
func ParseHeld(text []byte) (h Held, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if len(text) > MaxHeld || d.Decode(&h) != nil {
		return Held{}, errors.New("wire: not JSON of what is held of a batch")
	}
	for _, digest := range []string{h.Received, h.Sent} {
		if digest != "" {
			if _, err := wire.ParsePlanName(digest); err != nil { // the same form
				return Held{}, errors.New("wire: the digest of a batch has 64 lower-case hex digits")
			}
		}
	}
	return h, nil
}
