package vector

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
)

// NewTally counts zeros and ones in each row.
func (s Spec) NewTally() *tally.Counts { return tally.NewCounts(s.Rows, 2) }

// Bodies returns the messages of a report that answer a row: others stand for those that say
// "no row", once reports are filled up to the plan's envelopes.
func (m *Mechanism) Bodies(r *rand.Rand, v []float32) [][]byte {
	said := tally.NewMessages(m.spec.Answered)
	for _, channel := range m.Randomize(r, v) {
		if channel != m.spec.NoRow() {
			said.Say(uint32(channel/2), uint8(channel%2))
		}
	}
	return said.Bodies
}

// AddTo adds the counts to a tally of NewTally.
func (c Counts) AddTo(t *tally.Counts) {
	for row, ones := range c.Ones {
		n := t.Channel(row)
		n[0] += uint64(c.Answered[row] - ones)
		n[1] += uint64(ones)
	}
}

// CountsOf returns the counts in a tally of NewTally.
func (m *Mechanism) CountsOf(t *tally.Counts) (Counts, error) {
	c := m.NewCounts()
	for row := range c.Ones {
		n := t.Channel(row)
		all := n[0] + n[1]
		if all > math.MaxUint32 || all < n[0] {
			return Counts{}, fmt.Errorf("vector: row %d has more answers than can have been sent", row+1)
		}
		c.Answered[row], c.Ones[row] = uint32(all), uint32(n[1])
	}
	return c, nil
}
