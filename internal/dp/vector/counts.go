package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Counts are how many answered each row, and how many of the answers are ones.
type Counts struct{ Answered, Ones []uint32 }

// NewCounts are none.
func (m *Mechanism) NewCounts() Counts {
	return Counts{make([]uint32, m.spec.Rows), make([]uint32, m.spec.Rows)}
}

// Count adds one message. NoRow counts nothing.
func (c Counts) Count(channel int) error {
	row := channel / 2
	switch {
	case channel == 2*len(c.Ones):
		return nil
	case channel < 0 || row >= len(c.Ones):
		return fmt.Errorf("vector: message %d answers none of %d rows", channel, len(c.Ones))
	}
	c.Answered[row]++
	c.Ones[row] += uint32(channel % 2)
	return nil
}

// Merge adds the counts of other respondents.
func (c Counts) Merge(other Counts) {
	for i := range c.Ones {
		c.Answered[i] += other.Answered[i]
		c.Ones[i] += other.Ones[i]
	}
}

// Draw adds what one device sends to counts, by the law of Randomize and without the
// messages: for simulations, which draw every bit.
func (m *Mechanism) Draw(r *rand.Rand, v []float32, c Counts) {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	m.rotate(v, s)
	m.draw(r, s, c)
}

// draw adds what a device sends whose vector is rotated.
func (m *Mechanism) draw(r *rand.Rand, s *scratch, c Counts) {
	m.answers(r, s)
	if over := len(s.rows) - m.spec.Envelopes; over > 0 {
		r.Shuffle(len(s.rows), func(i, j int) {
			s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
			s.symbols[i], s.symbols[j] = s.symbols[j], s.symbols[i]
		})
		s.rows = s.rows[:m.spec.Envelopes]
	}
	for i, row := range s.rows {
		c.Answered[row]++
		c.Ones[row] += uint32(s.symbols[i])
	}
}

// drawPart is how many devices share a stream of randomness: changing it changes what a
// seed gives.
const drawPart = 250

// DrawAll draws the counts of n devices on all processors. encode writes the vector of
// device i to v, from several goroutines at once; the devices from 250 k on draw from
// stream(k), so that the result does not depend on the number of processors. progress, if not
// nil, is told how many devices are done.
func (m *Mechanism) DrawAll(n int, encode func(i int, v []float32), stream func(part int) *rand.Rand, progress func(done int)) Counts {
	return m.drawParts(n, func(part int, own Counts) {
		v, r := make([]float32, m.spec.Dimension), stream(part)
		for i := part * drawPart; i < min(n, (part+1)*drawPart); i++ {
			encode(i, v)
			m.Draw(r, v, own)
		}
	}, progress)
}

// DrawAlike draws as DrawAll does for groups, of whose members all have the vector that encode writes: it is rotated once for
// those of a part.
func (m *Mechanism) DrawAlike(groups []int, encode func(group int, v []float32), stream func(part int) *rand.Rand, progress func(done int)) Counts {
	ends := make([]int, len(groups)) // devices up to the end of each group
	n := 0
	for i, members := range groups {
		n += members
		ends[i] = n
	}
	return m.drawParts(n, func(part int, own Counts) {
		s := m.scratch.Get().(*scratch)
		defer m.scratch.Put(s)
		v, r, at := make([]float32, m.spec.Dimension), stream(part), -1
		for i := part * drawPart; i < min(n, (part+1)*drawPart); i++ {
			if of, _ := slices.BinarySearch(ends, i+1); of != at {
				at = of
				encode(at, v)
				m.rotate(v, s)
			}
			m.draw(r, s, own)
		}
	}, progress)
}

// DrawPooled draws counts of n devices by the sum of their vectors alone, nearly by their law: each answer to a row is taken
// to be of a device drawn anew, and rows to be normal. Means are those of DrawAll. Variances are larger by the part of
// devices that answer a row, of what these differ by in it.
func (m *Mechanism) DrawPooled(n int, sum []float64, r *rand.Rand) Counts {
	s := m.scratch.Get().(*scratch)
	defer m.scratch.Put(s)
	mean := make([]float32, m.spec.Dimension)
	for i, x := range sum {
		mean[i] = float32(x / float64(n))
	}
	m.u.apply(mean, s.held, s.rotated)
	count := func(of float64, p float64) float64 {
		return math.Round(min(of, max(0, of*p+math.Sqrt(of*p*(1-p))*r.NormFloat64())))
	}
	c, gain, answer := m.NewCounts(), m.spec.Gain(), float64(m.spec.Answered)/float64(m.spec.Rows)
	for row, z := range s.rotated {
		one := m.spec.Flip + (1-2*m.spec.Flip)*(1+min(1, max(-1, gain*float64(z))))/2
		answered := count(float64(n), answer)
		c.Answered[row], c.Ones[row] = uint32(answered), uint32(count(answered, one))
	}
	return c
}

// drawParts draws parts of n devices on all processors.
func (m *Mechanism) drawParts(n int, draw func(part int, own Counts), progress func(done int)) Counts {
	parts := make(chan int)
	all := m.NewCounts()
	var workers sync.WaitGroup
	var sum sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			own := m.NewCounts()
			for part := range parts {
				draw(part, own)
			}
			sum.Lock()
			all.Merge(own)
			sum.Unlock()
		})
	}
	for part := 0; part*drawPart < n; part++ {
		parts <- part
		if progress != nil {
			progress(part * drawPart)
		}
	}
	close(parts)
	workers.Wait()
	if progress != nil {
		progress(n)
	}
	return all
}
