// Package prob computes the laws that privacy accounting stands on: probabilities, tails and quantiles in log space,
// right to about 1e-12 relative in value. Used by account, internal/account, internal/dp and internal/audit.
//
// Textbook formulas (differences of log-gamma, one minus a distribution function, an unguarded continued fraction)
// lose half of their digits. Logarithms are natural. A survival function is P(X > k), strictly. "Relative error in
// value" of a logarithm is its absolute error; it cannot be smaller than the logarithm times 2^-52, which reaches
// 1e-13 at 1e-200. A number k outside the support has probability zero. A parameter outside its domain (negative,
// NaN, infinite unless said otherwise) gives NaN from functions that return a number, and an error from those that
// build a Window; nothing panics.
package prob

import "math"

var (
	negInf = math.Inf(-1)
	nan    = math.NaN()
)

// finitePositive reports whether x is a number above zero and below infinity.
func finitePositive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// normalPositive reports whether x is positive and its reciprocal and square root
// are far from overflow, as shapes of gamma functions must be.
func normalPositive(x float64) bool { return x >= 1e-290 && x <= 1e290 }

// probability reports whether p is in [0, 1].
func probability(p float64) bool { return p >= 0 && p <= 1 }

// complement returns 1-p as an unevaluated sum of two float64, exactly (Dekker's fast
// two-sum; p in [0, 1]). The low part is zero for p >= 1/2.
func complement(p float64) (hi, lo float64) {
	hi = 1 - p
	return hi, (1 - hi) - p
}

// differenceOfProducts returns ab-cd with an error of at most 1.5 units in the last
// place even when the products nearly cancel (Kahan).
func differenceOfProducts(a, b, c, d float64) float64 {
	cd := c * d
	return math.FMA(a, b, -cd) + math.FMA(-c, d, cd)
}
