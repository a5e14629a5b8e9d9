package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/rng"
)

// DiscreteGaussian is the law P(k) proportional to e^{-k^2 / 2 Sigma^2} on all
// integers (Canonne, Kamath and Steinke 2020).
type DiscreteGaussian struct {
	Sigma float64 // in [2^-8, 2^24]; the standard deviation is at most Sigma
}

// Validate says what is wrong with the parameter.
func (d DiscreteGaussian) Validate() error {
	if !(d.Sigma >= 0x1p-8 && d.Sigma <= 0x1p24) {
		return fmt.Errorf("noise: discrete gaussian sigma %v: give a number from 2^-8 to 2^24", d.Sigma)
	}
	return nil
}

// Sample draws an integer uniformly up to 13.5 Sigma on both sides, and keeps it
// with probability q^(k^2), q = e^{-1/2Sigma^2}: a power, by binary digits. About ten
// candidates are refused for one kept, most of them at the first digit.
//
// The sigma carried out is at least the stated one, and larger by at most 2^-49 of
// it. The cut at 13.5 Sigma leaves out less than 2^-130, and powers up to 2^56 of q
// are too small by less than 2^-72: together below 2^-68 in total variation.
func (d DiscreteGaussian) Sample(r *rand.Rand) int {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	q := rng.NewPowers(decay(0.5 / (d.Sigma * d.Sigma) * (1 - 0x1p-51))) // more than two roundings
	sizes := int(13.5*d.Sigma) + 2
	for {
		k := r.IntN(2*sizes-1) - sizes + 1
		if q.Bernoulli(r, k*k) {
			return k
		}
	}
}

// LogProb returns log P(k).
func (d DiscreteGaussian) LogProb(k int) float64 {
	total, _ := d.moments()
	return d.logWeight(k) - math.Log(total)
}

// Variance is Sigma^2 but for about e^{-20 Sigma^2} of it; for small Sigma it is less.
func (d DiscreteGaussian) Variance() float64 {
	total, second := d.moments()
	return second / total
}

func (d DiscreteGaussian) logWeight(k int) float64 {
	x := float64(k) / d.Sigma
	return -x * x / 2
}

// moments returns the sums of the weights and of k^2 times the weights. By Poisson's
// summation formula they differ from the integrals by a factor 1 +- 4 pi^2 Sigma^2
// e^{-2 pi^2 Sigma^2}, below 2^-100 from Sigma = 2 on.
func (d DiscreteGaussian) moments() (total, second float64) {
	if d.Sigma >= 2 {
		total = d.Sigma * math.Sqrt(2*math.Pi)
		return total, total * d.Sigma * d.Sigma
	}
	total = 1
	for k := 1; k < 80; k++ { // 40 Sigma
		w := 2 * math.Exp(d.logWeight(k))
		total += w
		second += float64(k*k) * w
	}
	return total, second
}
