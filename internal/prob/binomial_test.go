package prob

import (
	"math"
	"math/big"
	"testing"
)

// Every value and both tails of small binomials, against exact rationals: p is
// the float64 itself, so that there is nothing to round.
func TestBinomialAgainstRationals(t *testing.T) {
	for _, n := range []int{1, 2, 7, 60} {
		for _, p := range []float64{1e-300, 1e-17, 1e-3, 0.25, 0.3, 0.5, 0.7, 0.999, 1 - 0x1p-53} {
			pr := new(big.Rat).SetFloat64(p)
			qr := new(big.Rat).Sub(big.NewRat(1, 1), pr)
			pmf := make([]*big.Float, n+1)
			for k := range pmf {
				v := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(k)))
				v.Mul(v, ratPow(pr, k)).Mul(v, ratPow(qr, n-k))
				pmf[k] = new(big.Float).SetPrec(oracleBits).SetRat(v)
			}
			lower := bigNew(0)
			for k := 0; k <= n; k++ {
				lower = bigNew(0).Add(lower, pmf[k])
				upper := tailSum(pmf[k+1:])
				checkLog(t, LogBinomialPMF(k, n, p), pmf[k], 1e-14, "pmf", k, n, p)
				checkLog(t, LogBinomialCDF(k, n, p), lower, 1e-13, "cdf", k, n, p)
				checkLog(t, LogBinomialSurvival(k, n, p), upper, 1e-13, "survival", k, n, p)
			}
		}
	}
}

func ratPow(x *big.Rat, k int) *big.Rat {
	e := big.NewInt(int64(k))
	return new(big.Rat).SetFrac(new(big.Int).Exp(x.Num(), e, nil), new(big.Int).Exp(x.Denom(), e, nil))
}

func tailSum(xs []*big.Float) *big.Float {
	s := bigNew(0)
	for i := len(xs) - 1; i >= 0; i-- {
		s.Add(s, xs[i])
	}
	return s
}

func TestBinomialOutsideItsDomain(t *testing.T) {
	for _, f := range []func(int, int, float64) float64{LogBinomialPMF, LogBinomialCDF, LogBinomialSurvival} {
		for _, bad := range []struct {
			n int
			p float64
		}{{-1, 0.5}, {10, -0.1}, {10, 1.1}, {10, nan}, {10, math.Inf(1)}, {10, negInf}} {
			if got := f(3, bad.n, bad.p); !math.IsNaN(got) {
				t.Errorf("n = %d, p = %v: got %v, want NaN", bad.n, bad.p, got)
			}
		}
	}
	for _, c := range []struct {
		k, n          int
		p             float64
		pmf, cdf, sur float64
	}{
		{-1, 10, 0.5, negInf, negInf, 0}, {11, 10, 0.5, negInf, 0, negInf}, {math.MaxInt, 10, 0.5, negInf, 0, negInf},
		{0, 0, 0.5, 0, 0, negInf}, {0, 10, 0, 0, 0, negInf}, {1, 10, 0, negInf, 0, negInf},
		{10, 10, 1, 0, 0, negInf}, {9, 10, 1, negInf, negInf, 0},
	} {
		if got := LogBinomialPMF(c.k, c.n, c.p); got != c.pmf {
			t.Errorf("pmf(%d; %d, %v) = %v, want %v", c.k, c.n, c.p, got, c.pmf)
		}
		if got := LogBinomialCDF(c.k, c.n, c.p); got != c.cdf {
			t.Errorf("cdf(%d; %d, %v) = %v, want %v", c.k, c.n, c.p, got, c.cdf)
		}
		if got := LogBinomialSurvival(c.k, c.n, c.p); got != c.sur {
			t.Errorf("survival(%d; %d, %v) = %v, want %v", c.k, c.n, c.p, got, c.sur)
		}
	}
}
