package prob

import "math"

// The law is whole, and tested as such.

// LogDiscreteLaplaceCDF is log P(X <= k).
func LogDiscreteLaplaceCDF(k int, a float64) float64 {
	if !finitePositive(a) {
		return nan
	}
	// P(X <= -j) = e^{-aj}/(1+e^-a) for j >= 0, and P(X > k) = P(X <= -k-1).
	if k <= 0 {
		return a*float64(k) - math.Log1p(math.Exp(-a))
	}
	return log1mExp(LogDiscreteLaplaceCDF(-k-1, a))
}

// LogDiscreteLaplaceSurvival is log P(X > k).
func LogDiscreteLaplaceSurvival(k int, a float64) float64 {
	return LogDiscreteLaplaceCDF(-k-1, a) // symmetric about zero
}
