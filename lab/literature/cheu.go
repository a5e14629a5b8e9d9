package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// CheuCorollary47 returns the guarantee of randomized response of n users that each
// replace their bit by a fair coin with probability lambda/n, so flip it with
// lambda/(2n) (Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, Corollary 4.7), for
// lambda in [14 ln(4/delta), n]. Upper bound, replacement of one bit.
func CheuCorollary47(n int, lambda, delta float64) (account.Guarantee, error) {
	g := account.Guarantee{
		Method: "Corollary 4.7, closed form",
		Source: "Cheu, Smith, Ullman, Zeber, Zhilyaev 2019, Corollary 4.7",
	}
	return shuffledCoins("Cheu et al. 2019, Corollary 4.7", g, n, lambda, delta)
}

// shuffledCoins returns the statement that Cheu's Corollary 4.7 and ESA's Lemma II.6
// share: with m = lambda - sqrt(2 lambda ln(2/delta)),
//
//	epsilon = sqrt(32 ln(4/delta)/m) (1 - m/n).
func shuffledCoins(t theorems.Theorem, g account.Guarantee, n int, lambda, delta float64) (account.Guarantee, error) {
	if err := cmp.Or(t.Count("n", n), t.Open01("delta", delta), t.Need(lambda > 0, "lambda > 0: it is %v", lambda)); err != nil {
		return account.Guarantee{}, err
	}
	epsilon := coinsEpsilon(float64(n), lambda, delta)
	if least := 14 * math.Log(4/delta); lambda < least {
		return account.Guarantee{}, t.Outside(epsilon, "lambda >= 14 ln(4/delta) = %.6g: lambda is %.6g", least, lambda)
	}
	if lambda > float64(n) {
		return account.Guarantee{}, t.Outside(epsilon, "lambda <= n = %d: lambda is %.6g", n, lambda)
	}
	g.Epsilon, g.Delta = profile.Raised(epsilon), delta
	g.Adjacency, g.Trust, g.Users, g.Rounds, g.Bound = account.Replacement, account.Shuffled, n, 1, account.Upper
	return g, nil
}

// coinsEpsilon returns the printed formula, in the form that does not cancel near lambda = n.
func coinsEpsilon(n, lambda, delta float64) float64 {
	lost := math.Sqrt(2 * lambda * math.Log(2/delta))
	return math.Sqrt(32*math.Log(4/delta)/(lambda-lost)) * ((n - lambda) + lost) / n
}

// CheuZhilyaevFlip returns the flip probability at which randomized response of n
// users is (epsilon, delta)-DP (Cheu and Zhilyaev 2021): the smaller root of
// p(1-p) n = (33/5) coth(epsilon/2)^2 ln(4/delta). It needs a root: the right
// side at most n/4.
func CheuZhilyaevFlip(n int, epsilon, delta float64) (float64, error) {
	t := theorems.Theorem("Cheu and Zhilyaev 2021")
	if err := cmp.Or(t.Count("n", n), t.Epsilon("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return 0, err
	}
	coth := 1 / math.Tanh(epsilon/2)
	variance := profile.Raised(6.6 * coth * coth * math.Log(4/delta))
	if !(variance <= float64(n)/4) {
		return 0, t.Outside(math.NaN(), "(33/5) coth(epsilon/2)^2 ln(4/delta) <= n/4 = %.6g: it is %.6g", float64(n)/4, variance)
	}
	share := variance / float64(n)
	// (1-sqrt(1-4s))/2 without cancellation.
	return math.Min(0.5, profile.Raised(2*share/(1+math.Sqrt(1-4*share)))), nil
}
