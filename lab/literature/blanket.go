package literature

import (
	"cmp"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// The privacy blanket (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3): if every
// R(x) is gamma omega plus something, then for neighbours x and x' the shuffled
// reports of n respondents have
//
//	delta(epsilon) <= E[(L_1 + ... + L_M)_+] / (gamma n),  M ~ Bin(n, gamma),
//
// L = (R(x) - e^epsilon R(x'))/omega at a draw of omega, of mean 1 - e^epsilon.
// An inequality for sums bounds the expectation for each M, and M has a
// generating function.
type blanket struct {
	gamma  float64
	width  func(l float64) float64 // of the range of L, at l = e^epsilon
	most   func(l float64) float64 // upper end of the range
	square func(l float64) float64 // bound on E L^2
}

// Inequality bounds the expectation of a positive part of a sum.
type Inequality string

const (
	// Hoeffding: (b^2/4a) e^(-2 m a^2/b^2), a = e^epsilon - 1, b the width of L.
	Hoeffding Inequality = "Hoeffding"
	// Bennett: (b/ln(1+ab/c)) e^(-(m c/b^2) phi(ab/c)), b the upper end of L, c
	// its second moment, phi(u) = (1+u) ln(1+u) - u. The paper's second version
	// prints a further factor a m in the denominator (Lemma 5.6), with which the
	// bound is false; its authors' program leaves it out, as the proof does.
	Bennett Inequality = "Bennett"
)

// delta returns the bound at epsilon, with each M replaced by its generating
// function; M = 0, which has an empty sum, left out.
func (b blanket) delta(n int, epsilon float64, by Inequality) float64 {
	l, a := math.Exp(epsilon), math.Expm1(epsilon)
	var front, rate float64
	if by == Hoeffding {
		w := b.width(l)
		front, rate = w*w/(4*a), 2*a*a/(w*w)
	} else {
		top, c := b.most(l), b.square(l)
		if !(top > 0) {
			return 0 // L is never positive
		}
		u := a * top / c
		front, rate = top/math.Log1p(u), c/(top*top)*phi(u)
	}
	// (1-g+g e^-rate)^n - (1-g)^n, g = gamma.
	all := float64(n) * math.Log1p(b.gamma*math.Expm1(-rate))
	none := float64(n) * math.Log1p(-b.gamma)
	return front / (b.gamma * float64(n)) * math.Exp(all) * -math.Expm1(none-all)
}

// phi is (1+u) ln(1+u) - u, by the start of its alternating series where that
// cancels: rounded down, so that the bound is rounded up.
func phi(u float64) float64 {
	if u < 1e-4 {
		return u * u * (1.0/2 - u/6)
	}
	return (1+u)*math.Log1p(u) - u
}

// epsilon returns the least epsilon up to epsilon0 whose bound is at most delta,
// rounded up, or epsilon0, which holds without any shuffling.
func (b blanket) epsilon(n int, epsilon0, delta float64, by Inequality) float64 {
	enough := func(e float64) bool { return b.delta(n, e, by)*(1+profile.LawError) <= delta }
	if !enough(epsilon0) {
		return epsilon0
	}
	return profile.LeastEnough(0, epsilon0, enough)
}

// symbolsBlanket returns that of k-ary randomized response: omega uniform.
func symbolsBlanket(k int, epsilon0 float64) blanket {
	symbols := float64(k)
	gamma := symbols / (math.Exp(epsilon0) + symbols - 1)
	rest := (1 - gamma) * symbols
	return blanket{
		gamma: gamma,
		width: func(l float64) float64 { return rest * (l + 1) },
		most:  func(l float64) float64 { return gamma*(1-l) + rest },
		square: func(l float64) float64 {
			return gamma*(2-gamma)*(1-l)*(1-l) + rest*rest/symbols*(1+l*l)
		},
	}
}

// anyBlanket holds for every epsilon0-DP randomizer. Its largest blanket, the
// least of all R(x), has a mass g between e^-epsilon0 and 1, and there
//
//	g e^-e0 (1 - l e^(2 e0)) <= L <= g e^e0 (1 - l e^(-2 e0)),
//	E L^2 <= g e^e0 (l^2 + 1) - 2 g^2 l e^(-2 e0).
//
// A part of a blanket is a blanket, so M counts with e^-epsilon0; L is that of
// the unknown g, so each of its terms takes g where it is largest.
func anyBlanket(epsilon0 float64) blanket {
	least, e := math.Exp(-epsilon0), math.Exp(epsilon0)
	return blanket{
		gamma:  least,
		width:  func(l float64) float64 { return (e - least) * (1 + l) },
		most:   func(l float64) float64 { return e - l*least },
		square: func(l float64) float64 { return e*(l*l+1) - 2*least*least*least*l },
	}
}

func checkBlanket(t theorems.Theorem, n int, epsilon0, delta float64, by Inequality) error {
	if by != Hoeffding && by != Bennett {
		return fmt.Errorf("account: unknown inequality %q: want %q or %q", by, Hoeffding, Bennett)
	}
	return cmp.Or(t.Amplification(n, epsilon0, delta),
		t.Need(epsilon0 >= 1e-6 && epsilon0 <= 30, "1e-6 <= epsilon0 <= 30: it is %v", epsilon0))
}

// BlanketSymbols is shuffled k-ary randomized response by the privacy blanket
// (Balle, Bell, Gascon, Nissim 2019, Section 5). Upper bound, replacement.
func BlanketSymbols(n, k int, epsilon0, delta float64, by Inequality) (account.Guarantee, error) {
	t := theorems.Theorem("privacy blanket of k-ary randomized response")
	if err := cmp.Or(checkBlanket(t, n, epsilon0, delta, by), t.Need(k >= 2 && k <= account.MaxUsers, "2 <= k <= %d: it is %d", account.MaxUsers, k)); err != nil {
		return account.Guarantee{}, err
	}
	return blanketGuarantee(n, symbolsBlanket(k, epsilon0).epsilon(n, epsilon0, delta, by), delta,
		fmt.Sprintf("privacy blanket of %d-ary randomized response, %s", k, by)), nil
}

// BlanketAny returns one shuffled report of each of n respondents by any
// epsilon0-DP randomizer, by the privacy blanket with its authors' constants
// (Balle, Bell, Gascon, Nissim 2019, Section 5). Upper bound, replacement.
func BlanketAny(n int, epsilon0, delta float64, by Inequality) (account.Guarantee, error) {
	if err := checkBlanket("privacy blanket", n, epsilon0, delta, by); err != nil {
		return account.Guarantee{}, err
	}
	return blanketGuarantee(n, anyBlanket(epsilon0).epsilon(n, epsilon0, delta, by), delta,
		fmt.Sprintf("privacy blanket of any randomizer, %s", by)), nil
}

func blanketGuarantee(n int, epsilon, delta float64, method string) account.Guarantee {
	return account.Guarantee{
		Epsilon: epsilon, Delta: delta,
		Adjacency: account.Replacement, Trust: account.Shuffled, Users: n, Rounds: 1, Bound: account.Upper,
		Method: method, Source: "Balle, Bell, Gascon, Nissim 2019, Lemma 5.3",
	}
}
