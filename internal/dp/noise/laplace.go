package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// DiscreteLaplace is the law P(k) = tanh(Decay/2) e^{-Decay |k|} on all integers.
// Added to a number that one record moves by at most D, it gives epsilon = D Decay
// (the geometric mechanism of Ghosh, Roughgarden and Sundararajan 2009).
type DiscreteLaplace struct {
	Decay float64 // epsilon over sensitivity, in [2^-40, infinity)
}

// Validate says what is wrong with the parameter.
func (d DiscreteLaplace) Validate() error {
	if !(d.Decay >= 0x1p-40) || math.IsInf(d.Decay, 1) {
		return fmt.Errorf("noise: discrete laplace decay %v: give a number of at least 2^-40", d.Decay)
	}
	return nil
}

// Sample draws the difference of two geometric numbers. The decay carried out is
// at most the stated one and less by at most 2^-50 (and 2^-49 of itself); what else
// is rounded is below 2^-70 in total variation.
func (d DiscreteLaplace) Sample(r *rand.Rand) int {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	goOn := rng.NewPowers(decay(d.Decay))
	up, down := goOn.Geometric(r), goOn.Geometric(r)
	return up - down
}

// LogProb returns log P(k).
func (d DiscreteLaplace) LogProb(k int) float64 { return prob.LogDiscreteLaplacePMF(k, d.Decay) }

// Variance returns 2 e^-Decay / (1 - e^-Decay)^2.
func (d DiscreteLaplace) Variance() float64 {
	s := 2 * math.Sinh(d.Decay/2) // e^{a/2} - e^{-a/2}, with square (1-e^-a)^2 e^a
	return 2 / (s * s)
}
