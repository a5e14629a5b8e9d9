package central

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// subsampled returns the Renyi divergence of order a > 1 of the Gaussian of
// noise multiplier s on a Poisson sample of rate q, of (1-q) N(0, s^2) + q N(1,
// s^2) from N(0, s^2), which is the larger direction (Mironov, Talwar, Zhang
// 2019, section 3.3). Orders up to 2e4; above, +Inf.
func subsampled(q, s, a float64) float64 {
	switch {
	case q == 1:
		return a / (2 * s * s)
	case a > 2e4:
		return math.Inf(1)
	case a == math.Floor(a):
		return logMomentInteger(q, s, int(a)) / (a - 1)
	}
	return logMomentFractional(q, s, a) / (a - 1)
}

// logMomentInteger returns ln sum_j C(a,j) (1-q)^(a-j) q^j e^(j(j-1)/(2 s^2)).
func logMomentInteger(q, s float64, a int) float64 {
	log := math.Inf(-1)
	for j := 0; j <= a; j++ {
		x := float64(j)
		log = prob.LogAdd(log, prob.LogBinomialPMF(j, a, q)+x*(x-1)/(2*s*s))
	}
	return log
}

// logMomentFractional splits the integral where (1-q) N0 = q N1, at z = 1/2 +
// s^2 ln(1/q-1), and expands the mixture's power by Newton's binomial on either
// side; the series alternate once j exceeds a and are summed until they are
// negligible.
func logMomentFractional(q, s, a float64) float64 {
	z := 0.5 + s*s*math.Log(1/q-1)
	logQ, logR := math.Log(q), math.Log1p(-q)
	var positive, negative = math.Inf(-1), math.Inf(-1)
	logC, sign := 0.0, 1.0 // C(a, j)
	for j := 0.0; ; j++ {
		k := a - j
		left := logC + k*logR + j*logQ + j*(j-1)/(2*s*s) + prob.LogNormalCDF((z-j)/s)
		right := logC + j*logR + k*logQ + k*(k-1)/(2*s*s) + prob.LogNormalSurvival((z-k)/s)
		both := prob.LogAdd(left, right)
		if sign > 0 {
			positive = prob.LogAdd(positive, both)
		} else {
			negative = prob.LogAdd(negative, both)
		}
		if j > a+1 && (both < positive-40 || j > a+1000) {
			// From here the terms alternate and shrink: the rest is less than
			// this one, which is counted as positive.
			positive = prob.LogAdd(positive, both)
			break
		}
		c := (a - j) / (j + 1)
		logC += math.Log(math.Abs(c))
		if c < 0 {
			sign = -sign
		}
	}
	return prob.LogSub(positive, negative)
}
