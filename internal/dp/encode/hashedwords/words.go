// Package hashedwords turns a text into features by the hashing trick: each word is added, with a sign, to places
// that a fixed hash chooses. Used by internal/dp/encode/inputs.
package hashedwords

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
)

// Map is what a device needs, and what a plan names by its hash.
type Map struct {
	Places int       // a power of two
	Half   float32   // the share of a language's words at which a word weighs half
	Common []string  // sorted: words with a share that counts
	Shares []float32 // theirs; that of others is zero
	shares map[string]float32
}

const mostPlaces = 1 << 20

// Prepare indexes a map that was read or made; it must be called before Apply.
func (m *Map) Prepare() error {
	switch {
	case m.Places < 2 || m.Places > mostPlaces || bits.OnesCount(uint(m.Places)) != 1:
		return fmt.Errorf("hashedwords: %d places: give a power of two up to %d", m.Places, mostPlaces)
	case !(m.Half > 0) || m.Half-m.Half != 0:
		return fmt.Errorf("hashedwords: a word weighs half at a share of %v: give a number above 0", m.Half)
	case len(m.Common) != len(m.Shares):
		return fmt.Errorf("hashedwords: %d common words and %d shares: want the same number of each", len(m.Common), len(m.Shares))
	}
	m.shares = make(map[string]float32, len(m.Common))
	for i, w := range m.Common {
		if i > 0 && w <= m.Common[i-1] {
			return errors.New("hashedwords: common words must be sorted, each once")
		}
		if s := m.Shares[i]; !(s >= 0 && s <= 1) {
			return fmt.Errorf("hashedwords: the share of word %d is not in [0, 1]", i+1)
		}
		m.shares[w] = m.Shares[i]
	}
	return nil
}

// Apply writes the features of a text to out, of length Places: a word of share s adds
// h/(h + s), h = Half, as often as it is there. Of the FNV-1a hash of the word with 64 bits, times
// 0x9e3779b97f4a7c15, bit 63 is one where it adds with a minus, and the place is what stands from bit 40
// on.
func (m *Map) Apply(text string, out []float32) {
	clear(out)
	for _, w := range lsa.Split(text) {
		h := fnv.New64a()
		h.Write([]byte(w))
		sum := h.Sum64() * 0x9e3779b97f4a7c15
		weight := m.Half / (m.Half + m.shares[w])
		if sum>>63 == 1 {
			weight = -weight
		}
		out[sum>>40&uint64(m.Places-1)] += weight
	}
}
