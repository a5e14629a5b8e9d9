package prob_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// drawn is the histogram of draws in [lo, lo+len(law)-2), all others in the last bin, beside
// the law of these bins.
func drawn(t *testing.T, draws, n int, p float64) (law []float64, counts []int) {
	w, err := prob.BinomialWindow(n, p, 1e-12)
	if err != nil {
		t.Fatal(err)
	}
	r := stattest.Rand(t)
	law, counts = append(w.P, 0), make([]int, len(w.P)+1)
	law[len(w.P)] = max(0, 1-prob.SumOf(w.P))
	for range draws {
		k := prob.DrawBinomial(r, n, p)
		if k < w.Lo || k > w.Hi() {
			k = w.Hi() + 1
		}
		counts[k-w.Lo]++
	}
	return law, counts
}

// Both ways of drawing, where they meet, near p = 1/2, near one, and at the sizes of a
// simulation: 200 million devices of tiny p. 200,000 draws catch a law whose mean is off
// by a twenty-fifth of its deviation.
func TestDrawBinomialLaw(t *testing.T) {
	for _, c := range []struct {
		n int
		p float64
	}{
		{1, 0.3}, {5, 0.9}, {40, 0.24}, {40, 0.26}, {20, 0.5}, {21, 0.5}, {1000, 0.00999}, {1000, 0.01001}, {100, 0.37}, {10_000, 0.999},
		{200_000_000, 2.26e-9}, {200_000_000, 4.9e-8}, {200_000_000, 5.1e-8}, {200_000_000, 2.26e-6}, {1_000_000, 0.001}, {51_200_000_000, 1e-9},
	} {
		law, counts := drawn(t, 200_000, c.n, c.p)
		stattest.GTest(t, law, counts)
		if len(law) > 12 { // wide enough to shift by a part of a bin
			off := make([]float64, len(law))
			deviation := math.Sqrt(float64(c.n) * c.p * (1 - c.p))
			by := int(math.Ceil(0.04 * deviation))
			part := 0.04 * deviation / float64(by)
			for k, q := range law {
				off[k] += q * (1 - part)
				off[min(k+by, len(law)-1)] += q * part
			}
			stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, off, counts) })
		}
	}
}

func TestDrawBinomialAtTheEnds(t *testing.T) {
	r := stattest.Rand(t)
	for _, n := range []int{0, 1, 7, 1 << 40} {
		if none, all := prob.DrawBinomial(r, n, 0), prob.DrawBinomial(r, n, 1); none != 0 || all != n {
			t.Errorf("of %d trials %d succeed at probability 0 and %d at 1", n, none, all)
		}
	}
	for range 1000 {
		if k := prob.DrawBinomial(r, 1<<50, 1e-300); k != 0 {
			t.Fatalf("%d successes of probability 1e-285", k)
		}
	}
	for _, p := range []float64{-0.1, 1.1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("drawn with probability %v", p)
				}
			}()
			prob.DrawBinomial(r, 10, p)
		}()
	}
}

// A draw of a cell that nobody holds, and of a large one, at the size of ESA's
// heavy-hitter table.
func BenchmarkDrawBinomial(b *testing.B) {
	for name, p := range map[string]float64{"walk": 2.26e-8, "reject": 2.26e-6} {
		b.Run(name, func(b *testing.B) {
			r := stattest.Rand(b)
			for b.Loop() {
				prob.DrawBinomial(r, 200_000_000, p)
			}
		})
	}
}
