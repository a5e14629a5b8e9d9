// Package confidence returns intervals that hold the probability of a count. Used by internal/audit,
// internal/release/results and internal/question/latent.
package confidence

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Interval returns the Clopper-Pearson interval for the p of
// Binomial(n, p) after so many successes: it misses p with probability at most
// alpha, at most alpha/2 on each side, whatever p is. Both ends are rounded
// outwards. NaN unless 0 <= successes <= n and alpha is in (0, 1).
func Interval(successes, n int, alpha float64) (lo, hi float64) {
	return Lower(successes, n, alpha/2), Upper(successes, n, alpha/2)
}

// Lower returns the one-sided Clopper-Pearson bound: it exceeds p with
// probability at most alpha.
func Lower(successes, n int, alpha float64) float64 {
	if !validCount(successes, n, alpha) {
		return math.NaN()
	}
	if successes == 0 {
		return 0
	}
	// The largest p under which so many successes or more are rarer than alpha.
	rare := func(p float64) bool {
		return prob.LogBinomialSurvival(successes-1, n, p) <= math.Log(alpha)-tailError
	}
	lo, _ := bisect(rare)
	return lo
}

// Upper returns the one-sided Clopper-Pearson bound: it falls below p with
// probability at most alpha.
func Upper(successes, n int, alpha float64) float64 {
	if !validCount(successes, n, alpha) {
		return math.NaN()
	}
	if successes == n {
		return 1
	}
	// The smallest p under which so few successes or fewer are rarer than alpha.
	common := func(p float64) bool {
		return !(prob.LogBinomialCDF(successes, n, p) <= math.Log(alpha)-tailError)
	}
	_, hi := bisect(common)
	return hi
}

// tailError is ten times what the tails may be wrong by (tested to n = 1e8).
const tailError = 1e-11

func validCount(successes, n int, alpha float64) bool {
	return 0 <= successes && successes <= n && alpha > 0 && alpha < 1
}

// bisect finds neighbouring float64s lo < hi in [0, 1] with holds(lo) and not
// holds(hi), for a predicate true at 0 and false at 1. The bits of positive floats
// are ordered as the floats are, so it takes at most 62 steps.
func bisect(holds func(float64) bool) (lo, hi float64) {
	a, b := math.Float64bits(0), math.Float64bits(1)
	for b-a > 1 {
		if mid := a + (b-a)/2; holds(math.Float64frombits(mid)) {
			a = mid
		} else {
			b = mid
		}
	}
	return math.Float64frombits(a), math.Float64frombits(b)
}
