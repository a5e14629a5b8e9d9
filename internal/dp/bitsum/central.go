package bitsum

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
)

// The baselines below trust a curator who sees all bits. No device does anything
// for them, so that there is only an estimate to draw: of ones among n bits.

// Exact is the sum itself: no privacy.
type Exact struct{}

// DrawEstimate returns the number of ones.
func (Exact) DrawEstimate(_ *rand.Rand, ones, n int) estimate.Value {
	checkOnes(ones, n)
	return estimate.Exact(float64(ones))
}

// Gaussian is the sum with discrete Gaussian noise. The sums of I channels, one of
// which each moves by at most one, have sensitivity sqrt(I) in the Euclidean norm
// under replacement.
type Gaussian struct {
	Sigma float64 // in counts; see noise.DiscreteGaussian
}

// DrawEstimate returns the number of ones with noise.
func (m Gaussian) DrawEstimate(r *rand.Rand, ones, n int) estimate.Value {
	checkOnes(ones, n)
	d := noise.DiscreteGaussian{Sigma: m.Sigma}
	return estimate.Value{Mean: float64(ones + d.Sample(r)), StdErr: math.Sqrt(d.Variance())}
}
