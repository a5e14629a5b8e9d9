package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/internal/rng"
)

// secretName is what the secret is kept under.
const secretName = "secret"

const secretBytes = 32

// secret keys what a device keeps of its values: whoever finds the ledger without it
// cannot try values out. It is made before the first answer and never changes.
type secret [secretBytes]byte

// readSecret reads the device's secret. It is made where it is missing and nothing was
// answered yet; a ledger of answers without its secret is damage.
func readSecret(store Store, l *Ledger) (s secret, err error) {
	b, err := store.Load(secretName)
	if errors.Is(err, fs.ErrNotExist) && len(l.Entries) == 0 {
		b = make([]byte, secretBytes)
		rng.Reader(rng.New()).Read(b)
		b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, journal.Castagnoli))
		err = store.Replace(secretName, b)
	}
	if err != nil {
		return s, fmt.Errorf("client: the device's secret is missing or cannot be read, and without it its ledger is of no use: %w", err)
	}
	// Those of an earlier version have no checksum.
	if len(b) != secretBytes && (len(b) != secretBytes+4 || crc32.Checksum(b[:secretBytes], journal.Castagnoli) != binary.BigEndian.Uint32(b[secretBytes:])) {
		return s, fmt.Errorf("client: the secret in %v is damaged: restore it, or remove it and all of the device with it and the record of what was spent", store)
	}
	return secret(b[:secretBytes]), nil
}

// derive returns a key of its own for each purpose and name.
func (s secret) derive(purpose string, name []byte) [32]byte {
	mac := hmac.New(sha256.New, s[:])
	mac.Write([]byte(purpose + "\n"))
	mac.Write(name)
	return [32]byte(mac.Sum(nil))
}
