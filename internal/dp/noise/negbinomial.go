package noise

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/rng"
)

// NegativeBinomial is NB(R, P) with real shape R:
//
//	P(k) = C(k+R-1, k) (1-P)^R P^k, k >= 0; mean RP/(1-P), variance RP/(1-P)^2.
//
// It is infinitely divisible: n devices that each draw NB(R/n, P) draw NB(R, P)
// together. Many libraries call 1-P what is P here.
type NegativeBinomial struct {
	R float64 // shape, > 0; as small as 1/n
	P float64 // in [0, 1)
}

// Validate says what is wrong with the parameters. R (-ln(1-P)), the mean number of
// clusters (see Scatter), may not exceed 2^40.
func (d NegativeBinomial) Validate() error {
	if !positive(d.R) || !(d.P >= 0 && d.P < 1) {
		return fmt.Errorf("noise: negative binomial of shape %v and p %v: give a shape above 0 and p in [0, 1)", d.R, d.P)
	}
	if d.clusters() > 0x1p40 {
		return fmt.Errorf("noise: negative binomial of shape %v: too large to draw", d.R)
	}
	return nil
}

// clusters returns their mean number, R (-ln(1-P)).
func (d NegativeBinomial) clusters() float64 { return -d.R * math.Log1p(-d.P) }

// Sample draws one number. Where many are wanted that are mostly zero, use Scatter.
func (d NegativeBinomial) Sample(r *rand.Rand) int {
	k := 0
	d.Scatter(r, 1, func(_, size int) { k += size })
	return k
}

// Scatter draws independent NB(R, P) in each of the given number of channels, at a
// cost proportional to what is not zero: emit is told a channel and by how much to
// increase it, possibly several times for one channel.
//
// NB(R, P) is a Poisson number of clusters, of mean R (-ln(1-P)), whose sizes follow
// the logarithmic law P(k) = P^k / (k (-ln(1-P))), k >= 1 (Quenouille 1949). Over
// all channels the clusters are Poisson too, and each falls into any channel alike.
//
// All is drawn exactly but for these: computing the mean number of clusters rounds
// it, as if R were off by at most 2^-50 of itself; and each size is within 2^-65 of
// its law in total variation, by a cut of its far tail.
func (d NegativeBinomial) Scatter(r *rand.Rand, channels int, emit func(channel, size int)) {
	if err := d.Validate(); err != nil {
		panic(err.Error())
	}
	sizes := newLogarithmic(d.P)
	for range (Poisson{Mean: float64(channels) * d.clusters()}).Sample(r) {
		emit(r.IntN(channels), sizes.sample(r))
	}
}

// LogProb returns log P(k).
func (d NegativeBinomial) LogProb(k int) float64 {
	return prob.LogNegativeBinomialPMF(k, d.R, d.P)
}

// Mean is RP/(1-P).
func (d NegativeBinomial) Mean() float64 { return d.R * d.P / (1 - d.P) }

// Variance is RP/(1-P)^2.
func (d NegativeBinomial) Variance() float64 { return d.R * d.P / ((1 - d.P) * (1 - d.P)) }

// logarithmic is the law P(k) proportional to p^k / k, k >= 1.
type logarithmic struct {
	powers *rng.Powers
	blocks int // [1, 2), [2, 4), [4, 8), ...
}

func newLogarithmic(p float64) logarithmic {
	powers := rng.NewPowers(rng.Prob(p))
	return logarithmic{powers: powers, blocks: powers.Levels()}
}

// sample draws a block [2^j, 2^(j+1)) and a number k in it, uniformly, and keeps k
// with probability (2^j / k) p^k: what is kept has the law, since k was proposed
// with probability proportional to 2^-j.
//
// From the last block on p^k is below 2^-128, which relative to p, the weight of
// k = 1, leaves out less than 2^-65. The powers are too small by less than k 2^-128,
// with k below 2^61 even when p is as near one as a float64 can be: 2^-67.
func (l logarithmic) sample(r *rand.Rand) int {
	for {
		j := r.IntN(l.blocks)
		k := 1<<j + int(r.Uint64()&(1<<j-1))
		if k > 1 && r.IntN(k) >= 1<<j {
			continue
		}
		if l.powers.Bernoulli(r, k) {
			return k
		}
	}
}
