package amplify

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// StrongerClones is one shuffled report of each of n respondents by an
// epsilon0-DP randomizer R with (e^epsilon0+1) R(x)(z) >= R(x0)(z) + R(x1)(z)
// for all inputs and outputs, such as k-ary response (Feldman,
// McMillan, Talwar 2023 as corrected by its errata: the first version claimed
// every randomizer). Upper bound, replacement. For others use AnyRandomizer.
func StrongerClones(n int, epsilon0, delta float64) (account.Guarantee, error) {
	return clonesEpsilon(n, epsilon0, delta, clones2023, "stronger clones, exact law of their counts",
		"Feldman, McMillan, Talwar 2023, with its errata")
}

func clonesEpsilon(n int, epsilon0, delta float64, pair func(int, float64) tokens, method, source string) (account.Guarantee, error) {
	if err := checkShuffled(n, epsilon0); err != nil {
		return account.Guarantee{}, err
	}
	if err := theorems.Theorem(method).Open01("delta", delta); err != nil {
		return account.Guarantee{}, err
	}
	c, err := pair(n, epsilon0).single(epsilon0, account.Options{Neglect: delta * profile.Neglect})
	if err != nil {
		return account.Guarantee{}, err
	}
	epsilon, err := c.Epsilon(delta)
	return account.Guarantee{
		Epsilon: epsilon, Delta: delta,
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: n, Rounds: 1, Bound: account.Upper,
		Method: method, Source: source,
	}, err
}

// clones2023 is the pair with probability 2/(e^e0+1) of a clone instead of
// e^-e0 (Feldman, McMillan, Talwar 2023). The published theorem was for every
// epsilon0-DP randomizer; its errata restrict it. What the decomposition above
// needs is
//
//	(e^e0 + 1) R(x)(z) >= R(x0)(z) + R(x1)(z)   for all x, x0, x1, z,
//
// which k-ary response meets: R(x)(z) is e^e0 or 1 times the same
// number, and only one of x0, x1 can have the larger one.
func clones2023(n int, epsilon0 float64) tokens {
	return clones(n, epsilon0, 2/(1+math.Exp(epsilon0)))
}
