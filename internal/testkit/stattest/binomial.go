package stattest

import (
	"fmt"
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/prob"
)

// Binomial checks a number of successes against Binomial(n, p), by the exact
// two-sided test that gives each tail half of Alpha: for rates, such as how often
// an interval covers the truth.
//
// Among n trials it catches a rate that is off by 6.2 sqrt(p(1-p)/n) nine times in
// ten, as long as n p(1-p) is large.
func Binomial(t testing.TB, p float64, n, successes int) {
	t.Helper()
	if n < 0 || successes < 0 || successes > n || !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("stattest: %d successes in %d trials of probability %v", successes, n, p))
	}
	few := math.Exp(prob.LogBinomialCDF(successes, n, p))
	many := math.Exp(prob.LogBinomialSurvival(successes-1, n, p))
	if !(min(few, many) >= Alpha/2) {
		t.Errorf("%d successes in %d trials, expected %.1f: P(so few) = %.2g, P(so many) = %.2g", successes, n, p*float64(n), few, many)
	}
}

// AtMost checks that a number of successes among n trials does not speak against a rate of
// at most p, by the exact one-sided test: for bounds that may fail so often, and fail less.
//
// Among n trials it catches a rate that is above p by 6.1 sqrt(p(1-p)/n) nine times in ten,
// as long as n p(1-p) is large.
func AtMost(t testing.TB, p float64, n, successes int) {
	t.Helper()
	if n < 0 || successes < 0 || successes > n || !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("stattest: %d successes in %d trials of probability at most %v", successes, n, p))
	}
	if many := math.Exp(prob.LogBinomialSurvival(successes-1, n, p)); !(many >= Alpha) {
		t.Errorf("%d successes in %d trials, expected at most %.1f: P(so many) = %.2g", successes, n, p*float64(n), many)
	}
}
