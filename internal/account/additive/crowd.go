// Package additive accounts for noise that is added to sums: by a curator, by all respondents together, and by a
// shuffler to the sizes of its crowds. Used by internal/dp/sum/sumprivacy for the events of noisy sums, and by protocol
// for private sizes of crowds.
package additive

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// A Crowd is randomized deletion (ESA, Algorithm 3) with integer noise: of a
// crowd of n contributions the shuffler keeps max(0, n + Z - Threshold), chosen
// at random, with Z discrete Laplace, P(z) proportional to e^(-Noise |z|). If
// that exceeds n, that is if Z > Threshold, it drops the crowd. (The paper
// aborts the run.)
type Crowd struct {
	Noise     float64 // epsilon/2 for a replaced respondent, who changes two crowds
	Threshold int     // T: what is deleted on average, and at most 2 T but for delta
}

// NewCrowd is randomized deletion that hides the sizes of crowds with (epsilon,
// delta)-DP under replacement: Noise = epsilon/2 and the least T with
//
//	P(Z > T) <= delta/2, the chance that a given crowd is lost, and
//	P(Z = T) <= delta.
//
// The second condition is what privacy needs, see Guarantee. It binds when
// e^(epsilon/2) > 3: there the first alone, which is the rule of ESA's
// Theorem V.1, promises too much.
func NewCrowd(epsilon, delta float64) (Crowd, error) {
	t := theorems.Theorem("randomized deletion")
	if err := cmp.Or(t.Epsilon("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return Crowd{}, err
	}
	c := Crowd{Noise: epsilon / 2}
	// P(Z > T) = a^(T+1)/(1+a), P(Z = T) = a^T (1-a)/(1+a), a = e^-Noise.
	base := math.Log1p(math.Exp(-c.Noise))
	lost := (-math.Log(delta/2)-base)/c.Noise - 1
	told := (-math.Log(delta) - base + math.Log(-math.Expm1(-c.Noise))) / c.Noise
	guess := math.Ceil(math.Max(lost, told))
	if err := t.Need(guess <= theorems.MaxCount, "a threshold up to %d: it is %.6g", theorems.MaxCount, guess); err != nil {
		return Crowd{}, err
	}
	c.Threshold = max(0, int(guess))
	for c.lost() > delta/2 || c.told() > delta { // rounding of the guess
		c.Threshold++
	}
	return c, nil
}

func (c Crowd) lost() float64 {
	return profile.Raised(math.Exp(-c.Noise*float64(c.Threshold+1)) / (1 + math.Exp(-c.Noise)))
}

func (c Crowd) told() float64 {
	return profile.Raised(math.Exp(-c.Noise*float64(c.Threshold)) * math.Tanh(c.Noise/2))
}

// Guarantee returns that of the sizes of all crowds after deletion.
//
// Compare a crowd of n+1 with one of n. Of n+1 it may keep n+1, with
// probability P(Z = T), which n cannot: that is delta. Every other size, zero
// and the loss of the crowd included, has probabilities within e^Noise of each
// other, both ways; and from n to n+1 nothing is impossible. So a crowd that
// grows is (Noise, P(Z=T))-indistinguishable from before, one that shrinks
// (Noise, 0): in all (2 Noise, P(Z=T)) for a replaced respondent, who leaves
// one crowd and enters another, and (Noise, P(Z=T)) for a removed one.
func (c Crowd) Guarantee(adjacency account.Adjacency) account.Guarantee {
	g := account.Guarantee{
		Epsilon: 2 * c.Noise, Delta: math.Min(1, c.told()),
		Adjacency: adjacency, Trust: account.Shuffled, Users: 1, Rounds: 2, Bound: account.Upper,
		Method: "randomized deletion, discrete Laplace",
		Source: "ESA, Algorithm 3 and Theorem V.1",
	}
	if adjacency == account.Removal {
		g.Epsilon, g.Rounds = c.Noise, 1
	}
	return g
}
