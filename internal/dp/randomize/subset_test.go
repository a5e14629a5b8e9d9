package randomize

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// How often a cell is in a report, from the law of whole reports.
func TestSubsetSupportByEnumeration(t *testing.T) {
	for _, m := range []SubsetSelection{{2, 1, 1}, {6, 3, 0.4}, {7, 2, 5}, {5, 4, 2}} {
		s, reports := m.support(), ofSubset(m)
		hold, other := 0., 0.
		for set := range reports.outcomes {
			if set&1 == 1 {
				hold += reports.prob(set, 0)
				other += reports.prob(set, 1)
			}
		}
		if !near(s.hold, hold, 1e-12) || !near(s.other, other, 1e-12) || !near(s.miss, 1-hold, 1e-12) || !near(s.gap, hold-other, 1e-12) {
			t.Errorf("%+v: %+v, want %v and %v", m, s, hold, other)
		}
	}
	if a, b := (SubsetSelection{9, 1, 2}), (KRR{9, 2}); !near(a.Variance(3, 10), b.Variance(3, 10), 1e-12) {
		t.Error("subsets of one are not randomized response")
	}
}

// The size of least variance for a cell that nobody holds, to within the rounding.
func TestSubsetSizeIsBest(t *testing.T) {
	for _, k := range []int{2, 10, 1000} {
		for _, epsilon := range []float64{0.1, 1, 3, 8} {
			best := SubsetSize(k, epsilon)
			least := SubsetSelection{k, best, epsilon}.Variance(0, 1)
			for w := 1; w < k; w++ {
				if v := (SubsetSelection{k, w, epsilon}).Variance(0, 1); v < least*(1-1e-9) && (w < best-1 || w > best+1) {
					t.Errorf("%d cells, epsilon %v: subsets of %d have variance %v, of %d %v", k, epsilon, w, v, best, least)
				}
			}
		}
	}
}

// Many cells: a report has W distinct ones, the true one as often as stated, another as often
// as it should. 20,000 reports catch an epsilon off by a tenth.
func TestSubsetOfManyCells(t *testing.T) {
	m := SubsetSelection{K: 100_000, W: SubsetSize(100_000, 7), Epsilon: 7}
	const draws = 20_000
	r, own, low := stattest.Rand(t), 0, make([]float64, draws)
	for draw := range draws {
		seen := map[uint32]bool{}
		m.Randomize(r, 99_999, func(channel uint32) {
			if seen[channel] || int(channel) >= m.K {
				t.Fatalf("cell %d twice or outside", channel)
			}
			seen[channel] = true
			if channel == 99_999 {
				own++
			} else if channel < 1000 {
				low[draw]++
			}
		})
		if len(seen) != m.W {
			t.Fatalf("%d cells in a report of %d", len(seen), m.W)
		}
	}
	stattest.Binomial(t, m.support().hold, draws, own)
	less := m
	less.Epsilon *= 0.9
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, less.support().hold, draws, own) })
	// How many of the first thousand cells are in, of less variance than its mean: a fifth
	// more is caught.
	mean := 1000 * m.support().other
	stattest.Mean(t, mean, mean, low)
	stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1.2*mean, mean, low) })
}

func TestSubsetRefuses(t *testing.T) {
	for _, m := range []SubsetSelection{{1, 1, 1}, {MaxCells + 1, 1, 1}, {5, 0, 1}, {5, 5, 1}, {5, 2, 0}, {5, 2, math.Inf(1)}} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		refused(t, func() { m.Randomize(rng.New(), 0, func(uint32) {}) }, func() { m.LogProb(true) }, func() { m.Local(account.Removal) },
			func() { m.EstimateAll(nil, 0, nil) })
	}
	m := SubsetSelection{5, 2, 1}
	refused(t, func() { m.Randomize(nil, 5, nil) }, func() { m.DrawCounts(nil, make([]int, 4), make([]uint64, 5)) }, func() { m.Local("") })
}

func BenchmarkSubsetDevice(b *testing.B) { // 34 messages
	r, m := rng.New(), SubsetSelection{K: 100_000, W: SubsetSize(100_000, 8), Epsilon: 8}
	for b.Loop() {
		m.Randomize(r, 123, func(uint32) {})
	}
}

func BenchmarkSubsetDrawCounts(b *testing.B) { // ten thousand devices of 34 messages
	m := SubsetSelection{K: 100_000, W: SubsetSize(100_000, 8), Epsilon: 8}
	r, holders, counts := stattest.Rand(b), make([]int, m.K), make([]uint64, m.K)
	for x := range 10_000 {
		holders[x] = 1
	}
	for b.Loop() {
		m.DrawCounts(r, holders, counts)
	}
}
