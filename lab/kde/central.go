package kde

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// The baselines below trust a curator who sees all bits. No device does anything
// for them, so that there is only an estimate to draw: of ones among n bits.

// exactSum is the sum itself: no privacy.
type exactSum struct{}

// drawEstimate returns the number of ones.
func (exactSum) drawEstimate(_ *rand.Rand, ones, n int) estimate.Value {
	return estimate.Exact(float64(ones))
}

// gaussianSum is the sum with discrete Gaussian noise. The sums of I channels, one of
// which each moves by at most one, have sensitivity sqrt(I) in the Euclidean norm
// under replacement.
type gaussianSum struct {
	Sigma float64 // in counts; see noise.DiscreteGaussian
}

// drawEstimate returns the number of ones with noise.
func (m gaussianSum) drawEstimate(r *rand.Rand, ones, n int) estimate.Value {
	d := noise.DiscreteGaussian{Sigma: m.Sigma}
	return estimate.Value{Mean: float64(ones + d.Sample(r)), StdErr: math.Sqrt(d.Variance())}
}
