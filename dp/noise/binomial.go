package noise

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Binomial is the law of the number of successes among N independent trials.
type Binomial struct {
	N int     // trials, >= 0
	P float64 // probability of success, in [0, 1]
}

// Validate says what is wrong with the parameters.
func (d Binomial) Validate() error {
	if d.N < 0 || !(d.P >= 0 && d.P <= 1) {
		return fmt.Errorf("noise: binomial of %d trials of probability %v: give trials >= 0 and a probability", d.N, d.P)
	}
	return nil
}

// Sample draws exactly, with about N/32 random words.
func (d Binomial) Sample(r *rand.Rand) int {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	return rng.Binomial(r, d.N, rng.Prob(d.P))
}

// LogProb is log P(k).
func (d Binomial) LogProb(k int) float64 { return prob.LogBinomialPMF(k, d.N, d.P) }
