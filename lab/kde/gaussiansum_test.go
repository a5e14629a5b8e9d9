package kde

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// sumLaw is the law of the sum of n draws on -top..top by convolution, the tails in
// its ends.
func sumLaw(d noise.DiscreteGaussian, n, top int) []float64 {
	one := map[int]float64{}
	for k := -100; k <= 100; k++ {
		if p := math.Exp(d.LogProb(k)); p > 1e-20 {
			one[k] = p
		}
	}
	law := map[int]float64{0: 1}
	for range n {
		next := map[int]float64{}
		for a, p := range law {
			for b, q := range one {
				next[a+b] += p * q
			}
		}
		law = next
	}
	table := make([]float64, 2*top+1)
	for k, p := range law {
		table[max(-top, min(top, k))+top] += p
	}
	return table
}

// Both ways of drawing; the twin is the discrete Gaussian of the same parameter, which
// a sum of narrow ones is not.
func TestSampleSum(t *testing.T) {
	for _, c := range []struct {
		sigma  float64
		n, top int
	}{{0.4, 20, 10}, {0.4, 9, 8}, {0.8, 40, 25}} {
		d, r, counts := noise.DiscreteGaussian{Sigma: c.sigma}, stattest.Rand(t), make([]int, 2*c.top+1)
		for range 100_000 {
			counts[max(-c.top, min(c.top, sampleSum(d, r, c.n)))+c.top]++
		}
		stattest.GTest(t, sumLaw(d, c.n, c.top), counts)
		twin := noise.DiscreteGaussian{Sigma: c.sigma * math.Sqrt(float64(c.n))}
		if c.sigma > 0.5 {
			twin.Sigma *= 1.03
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, sumLaw(twin, 1, c.top), counts) })
	}
}

func BenchmarkSampleSum(b *testing.B) { // 40,000 devices, a deviation of 117 together
	r, d := stattest.Rand(b), noise.DiscreteGaussian{Sigma: 0.585}
	for b.Loop() {
		sampleSum(d, r, 40_000)
	}
}
