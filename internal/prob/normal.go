package prob

import "math"

// LogNormalCDF returns log P(Z <= z) for a standard normal Z: relative error in value
// near 1e-15 (z^2 + 1), at every depth.
func LogNormalCDF(z float64) float64 { return LogNormalSurvival(-z) }

// LogNormalSurvival returns log P(Z > z) for a standard normal Z.
func LogNormalSurvival(z float64) float64 {
	switch {
	case z <= 0:
		return math.Log1p(-0.5 * math.Erfc(-z/math.Sqrt2))
	case z < 30:
		return math.Log(0.5 * math.Erfc(z/math.Sqrt2))
	}
	// Mills' ratio, Q(z) = phi(z)/z (1 - 1/z^2 + 3/z^4 - ...): at z = 30 the
	// first term left out is 10395/z^12 = 2e-14, and erfc underflows from 38 on.
	y := 1 / (z * z)
	series := -y * (1 - 3*y*(1-5*y*(1-7*y*(1-9*y))))
	return -0.5*z*z - halfLogTwoPi - math.Log(z) + math.Log1p(series)
}

// NormalLogQuantile returns the z with log P(Z <= z) = logp, for logp in [-inf, 0]:
// for probabilities too small, or too near one, for a float64.
func NormalLogQuantile(logp float64) float64 {
	switch {
	case !(logp <= 0):
		return nan
	case logp == 0:
		return math.Inf(1)
	case logp == negInf:
		return negInf
	case logp > -math.Ln2:
		return -NormalLogQuantile(log1mExp(logp))
	}
	// P(Z <= z) <= e^{-z^2/2}/2 for z <= 0, so this start is not above the root.
	// log P(Z <= z) is concave and increases: Newton's steps from the left never
	// overshoot and converge quadratically, so it ends when it stops to rise.
	z := -math.Sqrt(math.Max(0, -2*(logp+math.Ln2)))
	for range 100 {
		value := LogNormalCDF(z)
		logSlope := -0.5*z*z - halfLogTwoPi - value
		next := z + (logp-value)*math.Exp(-logSlope)
		if !(next > z) {
			break
		}
		z = next
	}
	return z
}

// NormalQuantile returns the z with P(Z <= z) = p, for p in [0, 1].
func NormalQuantile(p float64) float64 {
	if p > 0.5 {
		return -NormalLogQuantile(math.Log1p(-p))
	}
	return NormalLogQuantile(math.Log(p))
}
