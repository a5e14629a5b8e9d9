package stattest

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
)

// The test rejects exactly the counts of the two tails of half Alpha, so its true
// rate is at most Alpha: here by enumeration, without randomness.
func TestBinomialRate(t *testing.T) {
	for _, p := range []float64{0, 0.01, 0.5, 0.95, 1} {
		var rate float64
		for k := range 201 {
			r := &recorder{TB: t}
			Binomial(r, p, 200, k)
			if r.failed {
				rate += prob.BinomialPMF(k, 200, p)
			}
		}
		if rate > Alpha || (p == 0.5 && rate < Alpha/4) {
			t.Errorf("a fair count at p = %v fails with probability %v", p, rate)
		}
	}
}

// Power: intervals said to cover 95 % of the time that cover 94 % are caught in
// 100,000 trials.
func TestBinomialTellsARate(t *testing.T) {
	r, n, covered := Rand(t), 100_000, 0
	for range n {
		if r.Float64() < 0.95 {
			covered++
		}
	}
	Binomial(t, 0.95, n, covered)
	Caught(t, func(tb testing.TB) { Binomial(tb, 0.94, n, covered) })
}

// One-sided: the counts that fail have a rate of at most Alpha together, and few never fail.
func TestAtMostRate(t *testing.T) {
	for _, p := range []float64{0, 0.01, 0.5, 1} {
		var rate float64
		for k := range 201 {
			r := &recorder{TB: t}
			AtMost(r, p, 200, k)
			if r.failed {
				rate += prob.BinomialPMF(k, 200, p)
			}
		}
		if rate > Alpha || (p == 0.5 && rate < Alpha/4) {
			t.Errorf("a rate of p = %v fails with probability %v", p, rate)
		}
	}
	AtMost(t, 0.5, 1000, 0)
	Caught(t, func(tb testing.TB) { AtMost(tb, 0.05, 1000, 100) })
}

func TestBinomialMisusePanics(t *testing.T) {
	for _, c := range []struct {
		p    float64
		n, k int
	}{{0.5, 10, 11}, {0.5, -1, 0}, {0.5, 10, -1}, {math.NaN(), 10, 1}, {1.1, 10, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v passed", c)
				}
			}()
			Binomial(t, c.p, c.n, c.k)
		}()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v passed", c)
				}
			}()
			AtMost(t, c.p, c.n, c.k)
		}()
	}
}
