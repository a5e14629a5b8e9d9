package latent

import (
	"math/bits"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
)

// Subset tells of one of K symbols a set by subset selection, in one message: a bit for each symbol, the first
// in the lowest bit of the first byte. So it does not tell in which order the set was drawn.
type Subset struct{ randomize.SubsetSelection }

const byteBits = 8

// Size returns the length of a report, in bytes.
func (m Subset) Size() int { return (m.K + byteBits - 1) / byteBits }

// Randomize returns the report of a symbol; of symbol -1, any.
func (m Subset) Randomize(r *rand.Rand, symbol int) []byte {
	if symbol < 0 {
		symbol = r.IntN(m.K)
	}
	report := make([]byte, m.Size())
	m.SubsetSelection.Randomize(r, symbol, func(c uint32) { report[c/byteBits] |= 1 << (c % byteBits) })
	return report
}

// Check refuses what is no report: of another length, with a bit beyond the symbols, or with a set of another size.
func (m Subset) Check(report []byte) error {
	if len(report) != m.Size() {
		return errReport
	}
	ones := 0
	for _, b := range report {
		ones += bits.OnesCount8(b)
	}
	if over := m.K % byteBits; ones != m.W || over > 0 && report[len(report)-1]>>over != 0 {
		return errReport
	}
	return nil
}

// Holds says whether a report that was checked has the symbol in its set.
func (m Subset) Holds(report []byte, symbol int) bool {
	return report[symbol/byteBits]>>(symbol%byteBits)&1 == 1
}
