package literature

import (
	"cmp"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// ClonesClosedForm returns one shuffled report of any epsilon0-DP randomizer
// (Feldman, McMillan, Talwar 2021, Theorem 3.1): for epsilon0 <= ln(n/(16
// ln(2/delta))),
//
//	ln(1 + tanh(e0/2) (8 sqrt(e^e0 ln(4/delta)/n) + 8 e^e0/n)).
//
// Upper bound, replacement.
func ClonesClosedForm(n int, epsilon0, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("clones, closed form (Feldman, McMillan, Talwar 2021, Theorem 3.1)")
	if err := t.Amplification(n, epsilon0, delta); err != nil {
		return account.Guarantee{}, err
	}
	users, e := float64(n), math.Exp(epsilon0)
	epsilon := math.Log1p(math.Tanh(epsilon0/2) * (8*math.Sqrt(e*math.Log(4/delta)/users) + 8*e/users))
	if most := math.Log(users / (16 * math.Log(2/delta))); !(epsilon0 <= most) {
		return account.Guarantee{}, t.Outside(epsilon, "epsilon0 <= ln(n/(16 ln(2/delta))) = %.6g: it is %.6g", most, epsilon0)
	}
	return closedForm(n, epsilon, epsilon0, delta, "clones, closed form", "Feldman, McMillan, Talwar 2021, Theorem 3.1"), nil
}

// StrongerClonesClosedForm returns the closed form of StrongerClones, for the same
// randomizers only (Feldman, McMillan, Talwar 2023, with its errata): for n >=
// 8 ln(2/delta) (e^epsilon0+1),
//
//	ln(1 + (e^e0-1) (4 sqrt(2 ln(4/delta)/((e^e0+1) n)) + 4/n)).
func StrongerClonesClosedForm(n int, epsilon0, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("stronger clones, closed form (Feldman, McMillan, Talwar 2023)")
	if err := t.Amplification(n, epsilon0, delta); err != nil {
		return account.Guarantee{}, err
	}
	users, e := float64(n), math.Exp(epsilon0)
	epsilon := math.Log1p(math.Expm1(epsilon0) * (4*math.Sqrt(2*math.Log(4/delta)/((e+1)*users)) + 4/users))
	if least := 8 * math.Log(2/delta) * (e + 1); !(users >= least) {
		return account.Guarantee{}, t.Outside(epsilon, "n >= 8 ln(2/delta) (e^epsilon0+1) = %.6g: n is %d", least, n)
	}
	return closedForm(n, epsilon, epsilon0, delta, "stronger clones, closed form", "Feldman, McMillan, Talwar 2023, with its errata"), nil
}

// closedForm is capped by epsilon0, which holds without shuffling.
func closedForm(n int, epsilon, epsilon0, delta float64, method, source string) account.Guarantee {
	return account.Guarantee{
		Epsilon: math.Min(epsilon0, profile.Raised(epsilon)), Delta: delta,
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: n, Rounds: 1, Bound: account.Upper,
		Method: method, Source: source,
	}
}

// ErlingssonTheorem7 returns the first bound of its kind: 12 epsilon0 sqrt(ln(1/delta)/n)
// for n >= 1000, epsilon0 < 1/2 and delta < 1/100 (Erlingsson, Feldman, Mironov,
// Raghunathan, Talwar, Thakurta 2019, Theorem 7). Upper bound, replacement.
func ErlingssonTheorem7(n int, epsilon0, delta float64) (account.Guarantee, error) {
	t := theorems.Theorem("Erlingsson et al. 2019, Theorem 7")
	if err := t.Amplification(n, epsilon0, delta); err != nil {
		return account.Guarantee{}, err
	}
	epsilon := 12 * epsilon0 * math.Sqrt(math.Log(1/delta)/float64(n))
	switch {
	case n < 1000:
		return account.Guarantee{}, t.Outside(epsilon, "n >= 1000: it is %d", n)
	case !(epsilon0 < 0.5):
		return account.Guarantee{}, t.Outside(epsilon, "epsilon0 < 1/2: it is %.6g", epsilon0)
	case !(delta < 0.01):
		return account.Guarantee{}, t.Outside(epsilon, "delta < 1/100: it is %v", delta)
	}
	return closedForm(n, epsilon, epsilon0, delta, "amplification by shuffling, closed form", "Erlingsson et al. 2019, Theorem 7"), nil
}

// BalleTheorem31 returns the share gamma of respondents who must send a random symbol
// for k-ary randomized response to be (epsilon, delta)-DP shuffled (Balle, Bell,
// Gascon, Nissim 2019, Theorem 3.1): max(14 k ln(2/delta)/((n-1) epsilon^2),
// 27 k/((n-1) epsilon)), for epsilon <= 1 and where that is below 1. The local
// epsilon is ln(k/gamma - k + 1).
func BalleTheorem31(n, k int, epsilon, delta float64) (gamma float64, err error) {
	t := theorems.Theorem("Balle et al. 2019, Theorem 3.1")
	if err := cmp.Or(t.Amplification(n, epsilon, delta), t.Need(n >= 2, "n >= 2: it is %d", n),
		t.Need(k >= 2 && k <= theorems.MaxCount, "2 <= k <= %d: it is %d", theorems.MaxCount, k),
		t.Need(epsilon <= 1, "epsilon <= 1: it is %.6g", epsilon)); err != nil {
		return 0, err
	}
	each := float64(k) / float64(n-1)
	gamma = profile.Raised(math.Max(14*each*math.Log(2/delta)/(epsilon*epsilon), 27*each/epsilon))
	if !(gamma < 1) {
		return 0, t.Outside(gamma, "max(14 k ln(2/delta)/((n-1) epsilon^2), 27 k/((n-1) epsilon)) < 1: it is %.6g", gamma)
	}
	return gamma, nil
}
