package randomize

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The transform against the matrix of signs, below and above the size that fits a cache.
func TestTransformIsTheMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := 1 << rapid.IntRange(0, 14).Draw(t, "log order")
		v := make([]float64, order)
		for range 5 {
			v[rapid.IntRange(0, order-1).Draw(t, "column")] += float64(rapid.IntRange(-9, 9).Draw(t, "value"))
		}
		got := append([]float64(nil), v...)
		transform(got)
		for range 20 {
			row, want := rapid.IntRange(0, order-1).Draw(t, "row"), 0.
			for column, x := range v {
				if minus(row-1, column) {
					x = -x
				}
				want += x
			}
			if got[row] != want {
				t.Fatalf("row %d of %d is %v, want %v", row, order, got[row], want)
			}
		}
	})
}

// The order is the least power of two that leaves a row for each cell beside the first.
func TestHadamardOrder(t *testing.T) {
	for k, want := range map[int]int{2: 4, 3: 4, 4: 8, 7: 8, 8: 16, 1 << 22: 1 << 23, 1<<22 - 1: 1 << 22} {
		if got := (Hadamard{K: k, Epsilon: 1}).Channels(); got != want {
			t.Errorf("%d cells: order %d, want %d", k, got, want)
		}
	}
}

// A large domain: a report follows its own row, half plus, and no other. 40,000 reports
// catch an epsilon off by a tenth.
func TestHadamardOfManyCells(t *testing.T) {
	m := Hadamard{K: 1<<22 - 1, Epsilon: 1.3}
	const draws = 40_000
	r, own, other := stattest.Rand(t), 0, 0
	for range draws {
		m.Randomize(r, m.K-1, func(channel uint32) {
			if !minus(m.K-1, int(channel)) {
				own++
			}
			if !minus(12345, int(channel)) {
				other++
			}
		})
	}
	plus := func(epsilon float64) float64 { return 1 / (1 + math.Exp(-epsilon)) }
	stattest.Binomial(t, plus(m.Epsilon), draws, own)
	stattest.Binomial(t, 0.5, draws, other)
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, plus(1.1*m.Epsilon), draws, own) })
	stattest.Caught(t, func(tb testing.TB) { stattest.Binomial(tb, 0.5, draws, own) })
}

func TestHadamardRefuses(t *testing.T) {
	for _, m := range []Hadamard{{1, 1}, {MaxCells, 1}, {4, 0}, {4, math.NaN()}, {4, 51}} {
		if m.Validate() == nil {
			t.Errorf("%+v is valid", m)
		}
		refused(t, func() { m.Randomize(rng.New(), 0, func(uint32) {}) }, func() { m.Prob(0, 0) }, func() { m.Local(account.Removal) })
	}
	m := Hadamard{4, 1}
	refused(t, func() { m.Randomize(nil, 4, nil) }, func() { m.Prob(0, -1) }, func() { m.EstimateAll(make([]uint64, 4), 0, make([]estimate.Value, 4)) },
		func() { m.DrawCounts(nil, []int{1, 1, -1, 1}, make([]uint64, 8)) }, func() { m.Variance(3, 2) })
	// More devices claimed than messages, or fewer, is no reason for an error that is not a number.
	out := make([]estimate.Value, 4)
	if m.EstimateAll([]uint64{9, 0, 0, 0, 0, 0, 0, 0}, 1, out); !(out[0].StdErr >= 0) {
		t.Errorf("an estimate from too many messages is %v", out[0])
	}
}

func BenchmarkHadamardDevice(b *testing.B) {
	r, m := rng.New(), Hadamard{K: 1<<22 - 1, Epsilon: 1}
	for b.Loop() {
		m.Randomize(r, 123_456, func(uint32) {})
	}
}

func BenchmarkHadamardEstimateAll(b *testing.B) { // three million cells
	m := Hadamard{K: 3_000_000, Epsilon: 1}
	counts, out := make([]uint64, m.Channels()), make([]estimate.Value, m.K)
	for i := range counts {
		counts[i] = uint64(i % 100)
	}
	for b.Loop() {
		m.EstimateAll(counts, 200_000_000, out)
	}
}

func BenchmarkHadamardDrawCounts(b *testing.B) { // a million devices
	m := Hadamard{K: 100_000, Epsilon: 1}
	r, holders, counts := stattest.Rand(b), make([]int, m.K), make([]uint64, m.Channels())
	for x := range holders {
		holders[x] = 10
	}
	for b.Loop() {
		m.DrawCounts(r, holders, counts)
	}
}
