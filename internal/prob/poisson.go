package prob

import "math"

// validMean reports whether a Poisson mean is in the domain: beyond 2^53 float64s
// miss integers.
func validMean(mean float64) bool { return mean >= 0 && mean <= 1<<53 }

// LogPoissonPMF returns log P(X = k) for X ~ Poisson(mean), mean in [0, 2^53]. Minus
// infinity for k < 0.
func LogPoissonPMF(k int, mean float64) float64 {
	switch {
	case !validMean(mean):
		return nan
	case k < 0:
		return negInf
	case mean == 0:
		return logOfBool(k == 0)
	case k == 0:
		return -mean
	}
	x := float64(k)
	return -stirling(x) - deviance(x, mean, x-mean) - halfLogTwoPi - 0.5*math.Log(x)
}

// LogPoissonCDF returns log P(X <= k) for X ~ Poisson(mean).
func LogPoissonCDF(k int, mean float64) float64 {
	lower, _ := logPoissonTails(k, mean)
	return lower
}

// LogPoissonSurvival returns log P(X > k) for X ~ Poisson(mean).
func LogPoissonSurvival(k int, mean float64) float64 {
	_, upper := logPoissonTails(k, mean)
	return upper
}

// logPoissonTails sums the tail on k's side of the mean term by term, starting
// with the largest, and complements it: O(sqrt(mean)) steps at the mean, fewer in
// the tails; relative error of the summed tail near 1e-14.
func logPoissonTails(k int, mean float64) (lower, upper float64) {
	switch {
	case !validMean(mean):
		return nan, nan
	case k < 0:
		return negInf, 0
	case mean == 0:
		return 0, negInf
	}
	// Terms are relative to the first; once they shrink by a factor rho the rest
	// is below term rho/(1-rho), and half a rounding of the sum may be dropped.
	const negligible = 0x1p-54
	sum, term := 1.0, 1.0
	if float64(k)+1 > mean {
		k = min(k, math.MaxInt-1) // k+1 must exist
		for j := k + 1; ; j++ {
			rho := mean / (float64(j) + 1)
			if term *= rho; term <= negligible*sum*(1-rho) {
				break
			}
			sum += term
		}
		upper = min(0, LogPoissonPMF(k+1, mean)+math.Log(sum))
		return log1mExp(upper), upper
	}
	for j := k; j > 0; j-- {
		rho := float64(j) / mean
		if term *= rho; term <= negligible*sum*(1-rho) {
			break
		}
		sum += term
	}
	lower = min(0, LogPoissonPMF(k, mean)+math.Log(sum))
	return lower, log1mExp(lower)
}

// PoissonWindow tabulates Poisson(mean) around its mode, leaving at most tail
// outside on each side (see Window).
func PoissonWindow(mean, tail float64) (Window, error) {
	if err := checkWindow(tail, validMean(mean), "poisson needs a mean in [0, 2^53]"); err != nil {
		return Window{}, err
	}
	if mean == 0 {
		return Window{Lo: 0, P: []float64{1}}, nil
	}
	return window{
		mode:     int(mean),
		last:     math.MaxInt,
		logPMF:   func(k int) float64 { return LogPoissonPMF(k, mean) },
		logTails: func(k int) (float64, float64) { return logPoissonTails(k, mean) },
		ratio:    func(k int) float64 { return mean / (float64(k) + 1) },
	}.tabulate(tail)
}
