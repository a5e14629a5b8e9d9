package kde

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/rng"
)

// sampleSum draws the sum of n independent draws of d, n >= 0, which is not a discrete
// Gaussian itself. It is for simulations of many devices; a device uses d.Sample.
//
// Where the draws outnumber the values they take it counts how many are 0, +-1, +-2,
// ..., each given the ones before, at a cost of some n/16 random words: then the law
// is that of the sum but for at most n 2^-48 in total variation, since each of these
// probabilities is a float64 computed to within 2^-50 of itself.
func sampleSum(d noise.DiscreteGaussian, r *rand.Rand, n int) int {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	sum := 0
	if float64(n) < 32*d.Sigma {
		for range n {
			sum += d.Sample(r)
		}
		return sum
	}
	sizes := int(13.5*d.Sigma) + 2 // as d.Sample
	beyond := make([]float64, sizes+1)
	for k := sizes - 1; k >= 0; k-- {
		x := float64(k) / d.Sigma
		weight := 2 * math.Exp(-x*x/2)
		if k == 0 {
			weight = 1
		}
		beyond[k] = beyond[k+1] + weight
	}
	for k := 0; k < sizes && n > 0; k++ {
		further := rng.Binomial(r, n, rng.Prob(math.Min(1, beyond[k+1]/beyond[k])))
		here := n - further
		if k > 0 {
			sum += k * (2*rng.Binomial(r, here, rng.Prob(0.5)) - here)
		}
		n = further
	}
	return sum
}
