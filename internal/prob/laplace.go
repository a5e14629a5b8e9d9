package prob

import "math"

// The discrete Laplace law with decay a > 0 (a = epsilon over sensitivity):
// P(k) = tanh(a/2) e^{-a|k|} on all integers, variance 2e^-a/(1-e^-a)^2.

// LogDiscreteLaplacePMF returns log P(X = k).
func LogDiscreteLaplacePMF(k int, a float64) float64 {
	if !finitePositive(a) {
		return nan
	}
	return log1mExp(-a) - math.Log1p(math.Exp(-a)) - a*math.Abs(float64(k))
}
