package prob

import (
	"math"
	"math/big"
	"testing"
)

// accuracy is what the package comment promises, relative in value down to
// 1e-300; below, relative to the logarithm.
const accuracy = 1e-12

// checkValue holds the logarithm got to the promise and keeps the worst error.
func checkValue(t *testing.T, worst *float64, got float64, want *big.Float, what ...any) {
	t.Helper()
	e, _ := bigSub(bigNew(got), want).Float64()
	w, _ := want.Float64()
	switch {
	case w < -690:
		e /= w
	case w < -1e-3:
	case w < -1e-300: // near one the digits are in the complement
		e /= w
	}
	*worst = max(*worst, math.Abs(e))
	if !(math.Abs(e) <= accuracy) {
		t.Errorf("%v: got %v, want %v: off by %.3g", what, got, w, e)
	}
}

func TestBinomialLarge(t *testing.T) {
	var pmf, tails float64
	for _, n := range []int{1000, 40_000, 1_000_000, 100_000_000} {
		for _, p := range []float64{1e-7, 0.001, 0.3, 0.4986, 0.5, 0.9, 1 - 1e-6} {
			for _, k := range spread(float64(n)*p, math.Sqrt(float64(n)*p*(1-p)), n-1) {
				checkValue(t, &pmf, LogBinomialPMF(k, n, p), refBinomialLogPMF(k, n, p), "pmf", k, n, p)
				lower, upper := refBinomialLogTails(k, n, p)
				checkValue(t, &tails, LogBinomialCDF(k, n, p), lower, "cdf", k, n, p)
				checkValue(t, &tails, LogBinomialSurvival(k, n, p), upper, "survival", k, n, p)
			}
		}
	}
	t.Logf("worst error: probabilities %.2g, tails %.2g", pmf, tails)
}

// The oracle must see what it is there to see: the textbook formula, right to
// 1e-14 of its own terms, is wrong by far more than the promise at n = 1e8.
func TestOracleCatchesLogGammaDifferences(t *testing.T) {
	const k, n, p = 49_860_000, 100_000_000, 0.4986
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	naive := a - b - c + k*math.Log(p) + (n-k)*math.Log1p(-p)
	e, _ := bigSub(bigNew(naive), refBinomialLogPMF(k, n, p)).Float64()
	if math.Abs(e) < 1000*accuracy {
		t.Errorf("differences of log-gamma are off by %.3g only", e)
	}
}

func TestPoissonLarge(t *testing.T) {
	var pmf, tails float64
	for _, mean := range []float64{1e-9, 0.3, 7, 1234.5, 1e6 + 0.1, 1e8} {
		for _, k := range spread(mean, math.Sqrt(mean), 1<<40) {
			checkValue(t, &pmf, LogPoissonPMF(k, mean), refPoissonLogPMF(k, mean), "pmf", k, mean)
			lower, upper := refPoissonLogTails(k, mean)
			checkValue(t, &tails, LogPoissonCDF(k, mean), lower, "cdf", k, mean)
			checkValue(t, &tails, LogPoissonSurvival(k, mean), upper, "survival", k, mean)
		}
	}
	t.Logf("worst error: probabilities %.2g, tails %.2g", pmf, tails)
}

func TestNegativeBinomialLarge(t *testing.T) {
	var pmf, tails float64
	for _, r := range []float64{1e-4, 0.5, 3.7, 60, 12345.6} {
		for _, p := range []float64{1e-6, 0.2, 0.6065306597126334, 0.99} {
			mean := r * p / (1 - p)
			for _, k := range spread(mean, math.Sqrt(mean/(1-p)), 1<<40) {
				checkValue(t, &pmf, LogNegativeBinomialPMF(k, r, p), refNegativeBinomialLogPMF(k, r, p), "pmf", k, r, p)
				lower, upper := refNegativeBinomialLogTails(k, r, p)
				checkValue(t, &tails, LogNegativeBinomialCDF(k, r, p), lower, "cdf", k, r, p)
				checkValue(t, &tails, LogNegativeBinomialSurvival(k, r, p), upper, "survival", k, r, p)
			}
		}
	}
	t.Logf("worst error: probabilities %.2g, tails %.2g", pmf, tails)
}

// Near p = 1 sums have too many terms for an oracle, but with integer shape the
// first r of k+r trials decide: P(NB(r, p) > k) = P(Binomial(k+r, 1-p) < r).
func TestNegativeBinomialNearOne(t *testing.T) {
	var pmf, tails float64
	for _, e := range []float64{1e-3, 1e-6, 1e-9, 1e-12} {
		p := 1 - e
		q := bigSub(bigNew(1), bigNew(p))
		for _, r := range []int{1, 2, 40} {
			for _, scaled := range []float64{0.01, 0.5, 1, 1.5, 4, 30} {
				k := int(scaled * float64(r) / e)
				checkValue(t, &pmf, LogNegativeBinomialPMF(k, float64(r), p), refNegativeBinomialLogPMF(k, float64(r), p), "pmf", k, r, p)
				trials := bigNew(float64(k + r))
				term := bigExp(bigMul(trials, bigLog(bigNew(p)))) // P(no success)
				sum := bigNew(0)
				for j := range r {
					sum.Add(sum, term)
					term = bigMul(term, bigQuo(bigMul(bigSub(trials, bigNew(float64(j))), q), bigMul(bigNew(float64(j+1)), bigNew(p))))
				}
				upper := bigLog(sum)
				checkValue(t, &tails, LogNegativeBinomialSurvival(k, float64(r), p), upper, "survival", k, r, p)
				checkValue(t, &tails, LogNegativeBinomialCDF(k, float64(r), p), refComplement(upper), "cdf", k, r, p)
			}
		}
	}
	t.Logf("worst error: probabilities %.2g, tails %.2g", pmf, tails)
}

// The corner of slow convergence that the documentation owns up to: r < 1 and few
// events where many fit. P(X <= 0) and P(X <= 1) have closed forms.
func TestNegativeBinomialSmallShapeNearOne(t *testing.T) {
	for _, r := range []float64{1e-8, 1e-4, 0.5, 0.9, 1.5} {
		for _, e := range []float64{1e-2, 1e-3, 1e-5, 1e-7, 1e-9} {
			p := 1 - e
			lower := bigMul(bigNew(r), bigLog(bigSub(bigNew(1), bigNew(p))))
			for k := range 2 {
				tolerance := 1e-12
				if r < 1 {
					tolerance += 1e-17 / e
				}
				checkLogLog(t, LogNegativeBinomialCDF(k, r, p), lower, tolerance, "cdf", k, r, p)
				checkLogLog(t, LogNegativeBinomialSurvival(k, r, p), refComplement(lower), tolerance, "survival", k, r, p)
				lower = bigAdd(lower, bigLog(bigAdd(bigNew(1), bigMul(bigNew(r), bigNew(p)))))
			}
		}
	}
}
