package vector

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Mechanism is a Spec made ready, for any number of goroutines at once.
type Mechanism struct {
	spec    Spec
	u       *rotation // times sqrt(Rows)/Clip
	bit     bitsum.RR
	answer  rng.Threshold
	scratch sync.Pool // *scratch
}

type scratch struct {
	held, rotated []float32
	rows          []int32
	mapped        []float32 // of the rows answered
	symbols       []uint8
}

// New expands the rotation.
func New(spec Spec) (*Mechanism, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	m := &Mechanism{
		spec: spec, u: newRotation(spec, math.Sqrt(float64(spec.Rows))/spec.Clip),
		bit: bitsum.RR{Flip: spec.Flip}, answer: rng.Prob(spec.share()), // exact, as Rows is a power of two
	}
	m.scratch.New = func() any {
		return &scratch{held: make([]float32, spec.Rows), rotated: make([]float32, spec.Rows)}
	}
	return m, nil
}

// Spec returns the description that m was made of.
func (m *Mechanism) Spec() Spec { return m.spec }

// normTolerance is how far above 1 rounding may carry a norm; slack covers it.
const normTolerance = 1e-6

// Check says why a vector does not fit: its length, a coordinate that is not finite, or a
// norm above 1.
func (m *Mechanism) Check(v []float32) error {
	if len(v) != m.spec.Dimension {
		return fmt.Errorf("vector: %d coordinates, the plan has %d", len(v), m.spec.Dimension)
	}
	return outgrown(v)
}

// outgrown says why numbers are no vector of norm at most one.
func outgrown(v []float32) error {
	var squares float64
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(squares) || math.IsInf(squares, 0):
		return errors.New("vector: a coordinate is not finite")
	case squares > 1+2*normTolerance:
		return errors.New("vector: its norm is above 1: scale it down")
	}
	return nil
}

// rotate writes the means of the answers before the flips, clip(sqrt(D) U v)/R in [-1, 1],
// to s.rotated. A vector that does not fit counts as zero.
func (m *Mechanism) rotate(v []float32, s *scratch) {
	if m.Check(v) != nil {
		clear(s.rotated)
		return
	}
	m.u.apply(v, s.held, s.rotated)
}

// answers draws which rows of a rotated vector are answered, in rising order, and the symbols.
func (m *Mechanism) answers(r *rand.Rand, s *scratch) {
	s.rows, s.mapped = s.rows[:0], s.mapped[:0]
	for at := 0; at < m.spec.Rows; at += 64 {
		mask := rng.Mask(r, m.answer)
		if left := m.spec.Rows - at; left < 64 {
			mask &= 1<<left - 1
		}
		for ; mask != 0; mask &= mask - 1 {
			row := at + bits.TrailingZeros64(mask)
			s.rows = append(s.rows, int32(row))
			s.mapped = append(s.mapped, s.rotated[row])
		}
	}
	if cap(s.symbols) < len(s.rows) {
		s.symbols = make([]uint8, 2*len(s.rows))
	}
	s.symbols = s.symbols[:len(s.rows)]
	m.bit.RoundAndRandomize(r, s.mapped, s.symbols) // cuts off, and compares integers
}

// Randomize returns the report of a device: Envelopes channels in random order, which it sends
// as they are and never draws again. Of more answers than envelopes a random part
// is dropped. A vector that Check refuses is answered as the zero vector, with fair
// bits: silence would tell.
func (m *Mechanism) Randomize(r *rand.Rand, v []float32) []int {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	m.rotate(v, s)
	m.answers(r, s)
	report := make([]int, max(m.spec.Envelopes, len(s.rows)))
	for i := range report {
		report[i] = m.spec.NoRow()
		if i < len(s.rows) {
			report[i] = m.spec.Channel(int(s.rows[i]), s.symbols[i] == 1)
		}
	}
	rng.Shuffle(r, report)
	return report[:m.spec.Envelopes]
}

// Ones writes the probability that an answer to each row is a one, after the flip.
func (m *Mechanism) Ones(v []float32, out []float64) {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	m.rotate(v, s)
	for i, z := range s.rotated {
		z := min(1, max(-1, float64(z)))
		out[i] = m.spec.Flip + (1-2*m.spec.Flip)*(1+z)/2
	}
}

// Local returns what a device is promised against everybody else together.
func (m *Mechanism) Local() account.Guarantee {
	l := m.spec.Event(1).Losses()
	return account.Guarantee{
		Epsilon: l.Report * (1 + 1e-12), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1, Bound: l.Bound,
		Method: "sum of the losses of one respondent's answers", Source: "docs/vector-rr.md, section 6",
	}
}
