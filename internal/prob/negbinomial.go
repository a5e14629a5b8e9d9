package prob

import "math"

// The negative binomial law NB(r, p) with real shape r > 0 and p in [0, 1):
//
//	P(k) = C(k+r-1, k) (1-p)^r p^k, k >= 0; mean rp/(1-p), variance rp/(1-p)^2.
//
// NB(r, p) is the sum of n independent NB(r/n, p). Many libraries call 1-p what is
// p here. p may be extremely near 1, where 1-p is exact; a caller's rounding of
// p = e^-a moves the mean by 1e-16/a relative, and nothing is added to that. Errors
// in value stay below 1e-12, but for tails with r < 1 and k < 1/(1-p), where they
// grow like 1e-17/(1-p).

// validNegativeBinomial reports whether r and p are in the domain.
func validNegativeBinomial(r, p float64) bool { return normalPositive(r) && p >= 0 && p < 1 }

// LogNegativeBinomialPMF returns log P(X = k) for X ~ NB(r, p).
func LogNegativeBinomialPMF(k int, r, p float64) float64 {
	switch {
	case !validNegativeBinomial(r, p):
		return nan
	case k < 0:
		return negInf
	case p == 0:
		return logOfBool(k == 0)
	case k == 0:
		return r * math.Log1p(-p)
	}
	// C(k+r-1, k) = r/(k+r) Gamma(k+r+1)/(Gamma(r+1) k!): a binomial term with r
	// successes of probability q = 1-p, and r - (k+r)q = rp - kq.
	x := float64(k)
	q, qLow := complement(p)
	t := differenceOfProducts(r, p, x, q) - x*qLow
	return logBinomialTerm(r, x, q, p, t) - math.Log1p(x/r)
}

// LogNegativeBinomialCDF returns log P(X <= k) for X ~ NB(r, p).
func LogNegativeBinomialCDF(k int, r, p float64) float64 {
	lower, _ := logNegativeBinomialTails(k, r, p)
	return lower
}

// LogNegativeBinomialSurvival returns log P(X > k) for X ~ NB(r, p).
func LogNegativeBinomialSurvival(k int, r, p float64) float64 {
	_, upper := logNegativeBinomialTails(k, r, p)
	return upper
}

// logNegativeBinomialTails returns log P(X <= k) and log P(X > k).
func logNegativeBinomialTails(k int, r, p float64) (lower, upper float64) {
	switch {
	case !validNegativeBinomial(r, p):
		return nan, nan
	case k < 0:
		return negInf, 0
	case p == 0:
		return 0, negInf
	}
	// P(X <= k) = I_q(r, k+1), with lambda = rp - (k+1)q.
	x := float64(k) + 1
	q, qLow := complement(p)
	return logBetaTails(r, x, q, p, differenceOfProducts(r, p, x, q)-x*qLow)
}

// NegativeBinomialWindow tabulates NB(r, p) around its mode, leaving at most tail
// outside on each side (see Window). It holds about log(1/tail)/(1-p) numbers.
func NegativeBinomialWindow(r, p, tail float64) (Window, error) {
	if err := checkWindow(tail, validNegativeBinomial(r, p), "negative binomial needs r > 0 and p in [0, 1)"); err != nil {
		return Window{}, err
	}
	if p == 0 {
		return Window{Lo: 0, P: []float64{1}}, nil
	}
	// P(k+1)/P(k) = p (k+r)/(k+1) >= 1 as long as k+1 <= (rp-q)/q + 1.
	mode := math.Max(0, math.Ceil((r-1)*p/(1-p))-1)
	if mode >= 1<<53 {
		return Window{}, errTooWide
	}
	w := window{
		mode:     int(mode),
		last:     math.MaxInt,
		logPMF:   func(k int) float64 { return LogNegativeBinomialPMF(k, r, p) },
		logTails: func(k int) (float64, float64) { return logNegativeBinomialTails(k, r, p) },
		ratio:    func(k int) float64 { return p * ((float64(k) + r) / (float64(k) + 1)) },
	}
	if r < 1 {
		w.ceiling = p // the ratio increases to p
	}
	return w.tabulate(tail)
}
