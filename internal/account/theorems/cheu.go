package theorems

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// CheuCorollary47 is the guarantee of randomized response of n users that each
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

// shuffledCoins is the statement that Cheu's Corollary 4.7 and ESA's Lemma II.6
// share: with m = lambda - sqrt(2 lambda ln(2/delta)),
//
//	epsilon = sqrt(32 ln(4/delta)/m) (1 - m/n).
func shuffledCoins(t Theorem, g account.Guarantee, n int, lambda, delta float64) (account.Guarantee, error) {
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

func coinsEpsilon(n, lambda, delta float64) float64 {
	lost := math.Sqrt(2 * lambda * math.Log(2/delta))
	// n - m as a sum of positive terms: 1 - m/n would cancel near lambda = n.
	return math.Sqrt(32*math.Log(4/delta)/(lambda-lost)) * ((n - lambda) + lost) / n
}

// CheuCorollary47Lambda is the smallest lambda of its domain for which
// CheuCorollary47 gives at most epsilon, rounded up. The flip probability is
// lambda/(2n).
func CheuCorollary47Lambda(n int, epsilon, delta float64) (float64, error) {
	t := Theorem("Cheu et al. 2019, Corollary 4.7")
	if err := cmp.Or(t.Count("n", n), t.Epsilon("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return 0, err
	}
	users, low := float64(n), 14*math.Log(4/delta)
	if low > users {
		return 0, t.Outside(math.NaN(), "n >= 14 ln(4/delta) = %.6g: n is %d", low, n)
	}
	enough := func(lambda float64) bool { return profile.Raised(coinsEpsilon(users, lambda, delta)) <= epsilon }
	if !enough(users) {
		return 0, t.Outside(math.NaN(), "epsilon >= %.6g, what fair coins of everyone give (n = %d): epsilon is %.6g", coinsEpsilon(users, users, delta), n, epsilon)
	}
	// m grows with lambda from ln(2/delta)/2 < low on, so epsilon falls.
	return profile.LeastEnough(low, users, enough), nil
}

// CheuLemma48 is the lambda with which randomized response of n users, flip
// probability lambda/(2n), is (epsilon, delta)-DP (Cheu et al. 2019, Lemma 4.8).
// It needs n >= 14 ln(4/delta) and sqrt(3456) ln(4/delta)/n < epsilon < 1.
// Outside, the error is a *DomainError whose Formula is the printed lambda: the
// experiments of KDE use it there, and claim what it does not prove.
func CheuLemma48(n int, epsilon, delta float64) (lambda float64, err error) {
	t := Theorem("Cheu et al. 2019, Lemma 4.8")
	if err := cmp.Or(t.Count("n", n), t.Epsilon("epsilon", epsilon), t.Open01("delta", delta)); err != nil {
		return 0, err
	}
	users, l := float64(n), math.Log(4/delta)
	if epsilon >= math.Sqrt(192*l/users) {
		lambda = 64 * l / (epsilon * epsilon)
	} else {
		lambda = users - epsilon*users*math.Sqrt(users)/math.Sqrt(432*l)
	}
	least := math.Sqrt(3456) * l / users
	switch {
	case users < 14*l:
		err = t.Outside(lambda, "n >= 14 ln(4/delta) = %.6g: n is %d", 14*l, n)
	case !(epsilon > least):
		err = t.Outside(lambda, "epsilon > sqrt(3456) ln(4/delta)/n = %.6g: epsilon is %.6g", least, epsilon)
	case !(epsilon < 1):
		err = t.Outside(lambda, "epsilon < 1: it is %.6g", epsilon)
	}
	if err != nil {
		return 0, err
	}
	return math.Min(users, profile.Raised(lambda)), nil
}

// CheuZhilyaevFlip is the flip probability at which randomized response of n
// users is (epsilon, delta)-DP (Cheu and Zhilyaev 2021): the smaller root of
// p(1-p) n = (33/5) coth(epsilon/2)^2 ln(4/delta). It needs a root: the right
// side at most n/4.
func CheuZhilyaevFlip(n int, epsilon, delta float64) (float64, error) {
	t := Theorem("Cheu and Zhilyaev 2021")
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
