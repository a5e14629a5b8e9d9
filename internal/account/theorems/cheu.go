package theorems

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/internal/account/profile"
)

// coinsEpsilon returns the epsilon of Cheu's Corollary 4.7: with m = lambda - sqrt(2 lambda ln(2/delta)),
//
//	sqrt(32 ln(4/delta)/m) (1 - m/n).
func coinsEpsilon(n, lambda, delta float64) float64 {
	lost := math.Sqrt(2 * lambda * math.Log(2/delta))
	// n - m as a sum of positive terms: 1 - m/n would cancel near lambda = n.
	return math.Sqrt(32*math.Log(4/delta)/(lambda-lost)) * ((n - lambda) + lost) / n
}

// CheuCorollary47Lambda returns the smallest lambda in [14 ln(4/delta), n] for which Corollary 4.7
// of Cheu, Smith, Ullman, Zeber and Zhilyaev 2019 gives at most epsilon, rounded up. The flip
// probability is lambda/(2n).
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

// CheuLemma48 returns the lambda with which randomized response of n users, flip
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
