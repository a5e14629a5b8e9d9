package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Poisson is the law of rare events: P(k) = e^-Mean Mean^k / k!.
type Poisson struct {
	Mean float64 // in [0, 2^40]
}

// Validate says what is wrong with the parameter.
func (d Poisson) Validate() error {
	if !(d.Mean >= 0 && d.Mean <= 0x1p40) {
		return fmt.Errorf("noise: poisson mean %v: give a number from 0 to 2^40", d.Mean)
	}
	return nil
}

// Sample takes time proportional to the mean. The whole part of the mean is a sum
// of that many laws of mean one; of another such draw each event is kept with the
// probability that is the fraction. Exact.
func (d Poisson) Sample(r *rand.Rand) int {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	whole, fraction := math.Modf(d.Mean)
	k := 0
	for range int(whole) {
		k += unitPoisson(r)
	}
	if keep := rng.Prob(fraction); fraction > 0 {
		for range unitPoisson(r) {
			if rng.Bernoulli(r, keep) {
				k++
			}
		}
	}
	return k
}

// LogProb returns log P(k).
func (d Poisson) LogProb(k int) float64 { return prob.LogPoissonPMF(k, d.Mean) }

// unitPoisson draws from the Poisson law of mean one with nothing but uniform
// integers (Duchon and Duvignau 2016, on the cycles of a growing permutation).
func unitPoisson(r *rand.Rand) int {
	g, k := 0, 1
	for n := 1; ; n++ {
		switch i := 1 + r.IntN(n+1); {
		case i == n+1:
			k++
		case i > g:
			k, g = k-1, n+1
		default:
			return k
		}
	}
}
