package sketch

import (
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// law is the exact law of all counts, indexed as a number to the base n+1, when the
// devices' values have these cells in each row: one device after the other.
func law(m randomize.OneHot, rows int, devices [][]int) []float64 {
	base := len(devices) + 1
	channels := rows * m.K
	place := make([]int, channels)
	for i, p := 0, 1; i < channels; i, p = i+1, p*base {
		place[i] = p
	}
	p := make([]float64, place[channels-1]*base)
	p[0] = 1
	for _, cells := range devices {
		next := make([]float64, len(p))
		for row, cell := range cells {
			for sent := range 1 << m.K {
				chance, move := 1/float64(rows), 0
				for c := range m.K {
					one := m.Flip
					if c == cell {
						one = m.Keep
					}
					if sent>>c&1 == 1 {
						chance *= one
						move += place[row*m.K+c]
					} else {
						chance *= 1 - one
					}
				}
				for i, x := range p {
					if x > 0 {
						next[i+move] += chance * x
					}
				}
			}
		}
		p = next
	}
	return p
}

// drawn is what holders[value] devices of each value send: a row for each, then the answers
// of each row.
func (r rows) drawn(source *rand.Rand, answer func(held []int, devices int, out []uint64), holders []int, out []uint64) {
	held, inRow := make([]int, r.Channels()), make([]int, r.Rows())
	for value, f := range holders {
		r.DrawRows(source, f, func(row, devices int) {
			held[r.Channel(row, r.Cell(row, uint32(value)))] += devices
			inRow[row] += devices
		})
	}
	for row, devices := range inRow {
		at := row * r.Cells()
		answer(held[at:at+r.Cells()], devices, out[at:at+r.Cells()])
	}
}

// counts draws those of answers in one fragment.
func (r rows) counts(source *rand.Rand, m randomize.OneHot, holders []int, out []uint64) {
	r.drawn(source, func(held []int, n int, out []uint64) { m.DrawCounts(source, held, n, out) }, holders, out)
}

// fragments draws those of answers in all report fragments.
func (r rows) fragments(source *rand.Rand, m randomize.Fragmented, holders []int, out []uint64) {
	r.drawn(source, func(held []int, n int, out []uint64) { m.DrawCounts(source, held, n, out) }, holders, out)
}

// Two devices with the values 0 and 1, in two rows where these collide or not: devices
// that go through the sender and those of rows that DrawRows drew both have the exact law of the 81 outcomes.
// 20,000 draws catch a relative entropy of 0.003; the twin draws row 0 a little more often.
func TestDevicesAndDrawnCountsHaveTheLaw(t *testing.T) {
	const draws = 20000
	m := randomize.OneHot{K: 2, Keep: 0.8, Flip: 0.3}
	var s *CountMean
	for seed := byte(0); s == nil || s.Cell(0, 0) != s.Cell(0, 1) || s.Cell(1, 0) == s.Cell(1, 1); seed++ {
		var err error
		if s, err = NewCountMean(2, m.K, [32]byte{seed}); err != nil {
			t.Fatal(err)
		}
	}
	cells := func(v uint32) []int { return []int{int(s.Cell(0, v)), int(s.Cell(1, v))} }
	exact := law(m, 2, [][]int{cells(0), cells(1)})
	r := stattest.Rand(t)
	sender := m.Sender()
	device := func(value uint32, row int, counts []uint64) {
		sender.Randomize(r, []uint32{s.Cell(row, value)}, func(cell uint32) { counts[s.Channel(row, cell)]++ })
	}
	sample := func(draw func(counts []uint64)) []int {
		found := make([]int, len(exact))
		for range draws {
			counts, outcome := make([]uint64, 4), 0
			draw(counts)
			for i := 3; i >= 0; i-- {
				outcome = outcome*3 + int(counts[i])
			}
			found[outcome]++
		}
		return found
	}
	stattest.GTest(t, exact, sample(func(c []uint64) {
		device(0, r.IntN(s.Rows()), c)
		device(1, r.IntN(s.Rows()), c)
	}))
	stattest.GTest(t, exact, sample(func(c []uint64) { s.counts(r, m, []int{1, 1}, c) }))
	// One fragment, where either it or its backstop changes nothing.
	same := randomize.OneHot{K: 2, Keep: 1}
	for _, f := range []randomize.Fragmented{{Backstop: m, Fragment: same, Tau: 1}, {Backstop: same, Fragment: m, Tau: 1}} {
		stattest.GTest(t, exact, sample(func(c []uint64) { s.fragments(r, f, []int{1, 1}, c) }))
	}
	// Two of them behind one backstop: every count is even.
	pairs := randomize.Fragmented{Backstop: m, Fragment: same, Tau: 2}
	stattest.GTest(t, exact, sample(func(c []uint64) {
		s.fragments(r, pairs, []int{1, 1}, c)
		for i := range c {
			if c[i]%2 != 0 {
				t.Fatal("two fragments that repeat the backstop say different things")
			}
			c[i] /= 2
		}
	}))
	twin := sample(func(c []uint64) {
		device(0, r.IntN(9)/5, c)
		device(1, r.IntN(9)/5, c)
	})
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, exact, twin) })
}

// Where many hold a value its rows are drawn by binomials: their law, for the first row.
// The twin gives every row the same share of what is left.
func TestRowsAreDrawnAlike(t *testing.T) {
	const draws, f, rows = 4000, 24, 3
	s, err := NewCountMean(rows, 2, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	r := stattest.Rand(t)
	exact := make([]float64, f+1)
	for k := range exact {
		exact[k] = prob.BinomialPMF(k, f, 1./rows)
	}
	found, twin := make([][]int, rows), make([]int, f+1)
	for row := range found {
		found[row] = make([]int, f+1)
	}
	for range draws {
		s.DrawRows(r, f, func(row, devices int) { found[row][devices]++ })
		first := prob.DrawBinomial(r, f, 1./rows)
		twin[prob.DrawBinomial(r, f-first, 1./rows)]++
	}
	for row := range found {
		stattest.GTest(t, exact, found[row])
	}
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, exact, twin) })
}

func BenchmarkDevice(b *testing.B) { // of the largest deployment: 1,024 rows of 65,536, a bit flips with probability 2.3e-6
	s, err := NewCountMean(1024, 65536, [32]byte{})
	if err != nil {
		b.Fatal(err)
	}
	sender := randomize.Symmetric(s.Cells(), 13, account.Removal).Sender()
	r := rand.New(rand.NewChaCha8([32]byte{}))
	sent := 0
	for i := uint32(0); b.Loop(); i++ {
		row := r.IntN(s.Rows())
		sender.Randomize(r, []uint32{s.Cell(row, i)}, func(cell uint32) { sent += int(s.Channel(row, cell) & 1) })
	}
}

func BenchmarkNewCountMean(b *testing.B) {
	for b.Loop() {
		NewCountMean(1024, 65536, [32]byte{})
	}
}

func BenchmarkEstimateOf88000From1024x65536(b *testing.B) {
	s, err := NewCountMean(1024, 65536, [32]byte{})
	if err != nil {
		b.Fatal(err)
	}
	counts := make([]uint64, s.Channels())
	for i := range counts {
		counts[i] = uint64(i & 7)
	}
	candidates := make([]uint32, 88_000)
	for i := range candidates {
		candidates[i] = uint32(i) * 31
	}
	a := OneHot(randomize.Symmetric(s.Cells(), 13, account.Removal))
	b.Run("count-mean", func(b *testing.B) {
		for b.Loop() {
			s.Estimate(counts, 200_000_000, a, candidates)
		}
	})
	b.Run("count", func(b *testing.B) {
		for b.Loop() {
			(&Count{s.rows}).Estimate(counts, 200_000_000, a, candidates)
		}
	})
}

func BenchmarkDrawCounts(b *testing.B) { // a million devices in 64 rows of 4,096
	s, err := NewCountMean(64, 4096, [32]byte{})
	if err != nil {
		b.Fatal(err)
	}
	holders := make([]int, 10_000)
	for i := range holders {
		holders[i] = 1_000_000 / (i + 1) / 10
	}
	m := randomize.Symmetric(s.Cells(), 8, account.Removal)
	out := make([]uint64, s.Channels())
	r := rand.New(rand.NewChaCha8([32]byte{}))
	for b.Loop() {
		s.counts(r, m, holders, out)
	}
}
