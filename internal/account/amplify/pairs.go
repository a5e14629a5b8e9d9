package amplify

import (
	"math"
	"math/bits"
)

// countedOn returns so many users, rounded down to 12 binary digits: whoever is left out is told
// to the observer. From one of these numbers to the next epsilon falls by 1e-4 of itself or
// more, and tables that are rounded otherwise take back less: no epsilon rises with the
// number of users.
func countedOn(users int) int {
	cut := max(0, bits.Len(uint(users))-12)
	return users >> cut << cut
}

// clones2021 returns the pair for any epsilon0-DP randomizer R (Feldman, McMillan,
// Talwar 2021, Theorem 3.1 and its numeric form). For neighbours x0 and x1 there
// are laws Q0, Q1 with R(x0) = q Q0 + (1-q) Q1 and R(x1) the reverse, q =
// e^e0/(1+e^e0); and every R(x) >= e^-e0 (R(x0)+R(x1))/2 = e^-e0 (Q0+Q1)/2. So
// each other respondent sends a clone with probability e^-e0, half and half.
func clones2021(n int, epsilon0 float64) tokens {
	return clones(n, epsilon0, math.Exp(-epsilon0))
}

// clones never counts more clones than there are: fewer hide less.
func clones(n int, epsilon0, probability float64) tokens {
	rate := math.Min(probability, 1-1e-9) / 2
	q := 1 / (1 + math.Exp(-epsilon0))
	return visible(n, rate, q/rate, 1/(1+math.Exp(epsilon0))/rate)
}

// symbols returns what shows of k-ary response, k >= 3, when everyone
// else holds a third symbol: the counts of the target's two possible symbols.
// All that is hidden is which of the other symbols came, so it is a lower bound
// on any accounting, exact for that data set when k = 3.
func symbols(n, k int, epsilon0 float64) tokens {
	e := math.Exp(epsilon0)
	return visible(n, 1/(e+float64(k-1)), e, 1)
}

// visible returns a pair whose other tokens are all plain blanks, which the target
// sends with the probability that is left.
func visible(n int, rate, x, y float64) tokens {
	return tokens{n: n, rate: rate, x: x, y: y, blank: 1, weight: math.Max(0, (1-rate*(x+y))/(1-2*rate))}
}
