package prob

import "math"

// LogBinomialPMF returns log P(X = k) for X ~ Binomial(n, p): n >= 0 trials (exact up
// to 2^53), p in [0, 1]. Minus infinity outside 0..n.
func LogBinomialPMF(k, n int, p float64) float64 {
	switch {
	case n < 0 || !probability(p):
		return nan
	case k < 0 || k > n:
		return negInf
	case p == 0:
		return logOfBool(k == 0)
	case p == 1:
		return logOfBool(k == n)
	case k == 0:
		return float64(n) * math.Log1p(-p)
	case k == n:
		return float64(n) * math.Log(p)
	}
	t := math.FMA(-float64(n), p, float64(k)) // k - np, rounded once
	return logBinomialTerm(float64(k), float64(n-k), p, 1-p, t)
}

// BinomialPMF returns P(X = k) for X ~ Binomial(n, p).
func BinomialPMF(k, n int, p float64) float64 { return math.Exp(LogBinomialPMF(k, n, p)) }

// LogBinomialCDF returns log P(X <= k) for X ~ Binomial(n, p).
func LogBinomialCDF(k, n int, p float64) float64 {
	lower, _ := logBinomialTails(k, n, p)
	return lower
}

// LogBinomialSurvival returns log P(X > k) for X ~ Binomial(n, p).
func LogBinomialSurvival(k, n int, p float64) float64 {
	_, upper := logBinomialTails(k, n, p)
	return upper
}

// logBinomialTails returns log P(X <= k) and log P(X > k). The smaller has relative
// error in value near 1e-14 (1e-13 at n = 1e8), however deep; the larger is its
// complement. O(1) far from the mean, O(sqrt n) near it.
func logBinomialTails(k, n int, p float64) (lower, upper float64) {
	switch {
	case n < 0 || !probability(p):
		return nan, nan
	case k < 0:
		return negInf, 0
	case k >= n:
		return 0, negInf
	case p == 0:
		return 0, negInf
	case p == 1:
		return negInf, 0
	}
	// P(X <= k) = I_{1-p}(n-k, k+1), with lambda = (n+1)p - (k+1).
	lambda := math.FMA(float64(n)+1, p, -(float64(k) + 1))
	return logBetaTails(float64(n-k), float64(k)+1, 1-p, p, lambda)
}

// BinomialWindow tabulates Binomial(n, p) around its mode, leaving at most tail
// outside on each side (see Window).
func BinomialWindow(n int, p, tail float64) (Window, error) {
	if err := checkWindow(tail, n >= 0 && probability(p), "binomial needs n >= 0 and p in [0, 1]"); err != nil {
		return Window{}, err
	}
	if n == 0 || p == 0 {
		return Window{Lo: 0, P: []float64{1}}, nil
	}
	if p == 1 {
		return Window{Lo: n, P: []float64{1}}, nil
	}
	odds := p / (1 - p)
	return window{
		mode:     min(n, int((float64(n)+1)*p)),
		last:     n,
		logPMF:   func(k int) float64 { return LogBinomialPMF(k, n, p) },
		logTails: func(k int) (float64, float64) { return logBinomialTails(k, n, p) },
		ratio:    func(k int) float64 { return float64(n-k) / float64(k+1) * odds },
	}.tabulate(tail)
}

// logOfBool returns log 1 or log 0.
func logOfBool(b bool) float64 {
	if b {
		return 0
	}
	return negInf
}
