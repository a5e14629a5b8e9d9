package theorems

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// ESATheoremIV1 returns what an observer of any t of a respondent's report fragments
// learns (ESA, Theorem IV.1): the backstop at epsilonBackstop, then t fragments
// of epsilonFragment each, composed as in Corollary A.2 (chained). Local, of the adjacency
// of the backstop's guarantee; at most min(epsilonBackstop, t epsilonFragment).
func ESATheoremIV1(epsilonBackstop, epsilonFragment float64, t int) (float64, error) {
	name := Theorem("ESA Theorem IV.1")
	if err := cmp.Or(name.Epsilon("epsilon of the backstop", epsilonBackstop),
		name.Epsilon("epsilon of a fragment", epsilonFragment), name.Count("fragments seen", t)); err != nil {
		return 0, err
	}
	return chained(epsilonBackstop, float64(t)*epsilonFragment), nil
}

// chained returns the epsilon of a pure b-DP randomizer applied to the output of a pure a-DP one (ESA,
// Corollary A.2): ln((e^(a+b)+1)/(e^a+e^b)), that is tanh(e/2) = tanh(a/2) tanh(b/2), rounded up.
func chained(a, b float64) float64 {
	low, high := math.Min(a, b), math.Max(a, b)
	e := 0.0
	if low < 1 {
		e = 2 * math.Atanh(math.Tanh(low/2)*math.Tanh(high/2))
	} else { // where the hyperbolic tangents would round to one
		e = low - math.Log1p(math.Exp(low-high)) + math.Log1p(math.Exp(-low-high))
	}
	return math.Min(low, profile.Raised(e))
}
