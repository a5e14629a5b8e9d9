package prob

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// law is one law as three functions of k.
type law struct {
	name                     string
	logPMF, logCDF, logUpper func(k int) float64
}

func anyLaw(t *rapid.T) (l law, centre int) {
	switch rapid.IntRange(0, 3).Draw(t, "law") {
	case 0:
		n, p := rapid.IntRange(1, 1e8).Draw(t, "n"), rapid.Float64Range(0, 1).Draw(t, "p")
		return law{"binomial",
			func(k int) float64 { return LogBinomialPMF(k, n, p) },
			func(k int) float64 { return LogBinomialCDF(k, n, p) },
			func(k int) float64 { return LogBinomialSurvival(k, n, p) }}, int(float64(n) * p)
	case 1:
		mean := math.Exp(rapid.Float64Range(-10, 14).Draw(t, "log mean"))
		return law{"poisson",
			func(k int) float64 { return LogPoissonPMF(k, mean) },
			func(k int) float64 { return LogPoissonCDF(k, mean) },
			func(k int) float64 { return LogPoissonSurvival(k, mean) }}, int(mean)
	case 2:
		r := math.Exp(rapid.Float64Range(-10, 10).Draw(t, "log r"))
		p := 1 - math.Exp(rapid.Float64Range(-8, 0).Draw(t, "log(1-p)"))
		return law{"negative binomial",
			func(k int) float64 { return LogNegativeBinomialPMF(k, r, p) },
			func(k int) float64 { return LogNegativeBinomialCDF(k, r, p) },
			func(k int) float64 { return LogNegativeBinomialSurvival(k, r, p) }}, int(r * p / (1 - p))
	}
	a := math.Exp(rapid.Float64Range(-8, 5).Draw(t, "log decay"))
	return law{"discrete laplace",
		func(k int) float64 { return LogDiscreteLaplacePMF(k, a) },
		func(k int) float64 { return LogDiscreteLaplaceCDF(k, a) },
		func(k int) float64 { return LogDiscreteLaplaceSurvival(k, a) }}, 0
}

// The two tails sum to one, and each steps by the probability it passes.
func TestTailsFitTheirLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, centre := anyLaw(t)
		spread := int(10*math.Sqrt(float64(centre))) + 20
		k := centre + rapid.IntRange(-spread, spread).Draw(t, "offset")
		here, before := math.Exp(l.logCDF(k)), math.Exp(l.logCDF(k-1))
		upper, upperBefore := math.Exp(l.logUpper(k)), math.Exp(l.logUpper(k-1))
		p := math.Exp(l.logPMF(k))
		if !(math.Abs(here+upper-1) <= 1e-15*4) {
			t.Errorf("%s: tails at %d sum to 1 + %v", l.name, k, here+upper-1)
		}
		if !(math.Abs(here-before-p) <= 4e-12*here) {
			t.Errorf("%s: cdf steps by %v at %d, want %v", l.name, here-before, k, p)
		}
		if !(math.Abs(upperBefore-upper-p) <= 4e-12*upperBefore) {
			t.Errorf("%s: survival steps by %v at %d, want %v", l.name, upperBefore-upper, k, p)
		}
	})
}

func TestBinomialIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1e8).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		p := float64(rapid.IntRange(0, 1<<30).Draw(t, "p")) / (1 << 30) // 1-p is exact
		for _, c := range [][2]float64{
			{LogBinomialPMF(k, n, p), LogBinomialPMF(n-k, n, 1-p)},
			{LogBinomialCDF(k, n, p), LogBinomialSurvival(n-k-1, n, 1-p)},
		} {
			if c[0] != c[1] && !(math.Abs(c[0]-c[1]) <= 1e-13*(1+math.Abs(c[0]))) {
				t.Errorf("%v against its mirror %v", c[0], c[1])
			}
		}
	})
}

func TestDiscreteLaplaceIsADifference(t *testing.T) {
	// Z1 - Z2 with Z ~ NB(1, e^-a), independent, is discrete Laplace(a).
	const a = 0.7
	for k := -5; k <= 5; k++ {
		var sum Sum
		for j := max(0, -k); j < 200; j++ {
			sum.Add(math.Exp(LogNegativeBinomialPMF(j+k, 1, math.Exp(-a)) + LogNegativeBinomialPMF(j, 1, math.Exp(-a))))
		}
		if got := math.Exp(LogDiscreteLaplacePMF(k, a)); !near(got, sum.Value(), 1e-14) {
			t.Errorf("P(%d) = %v, want %v", k, got, sum.Value())
		}
	}
}

// NB(r, p) is divisible: the law of a sum of two has the sum of the shapes.
func TestNegativeBinomialIsDivisible(t *testing.T) {
	const p = 0.6
	for k := range 40 {
		var sum Sum
		for j := range k + 1 {
			sum.Add(math.Exp(LogNegativeBinomialPMF(j, 0.3, p) + LogNegativeBinomialPMF(k-j, 1.9, p)))
		}
		if got := math.Exp(LogNegativeBinomialPMF(k, 2.2, p)); !near(got, sum.Value(), 1e-13) {
			t.Errorf("P(%d) = %v, want %v", k, got, sum.Value())
		}
	}
}

// Whatever the arguments: a logarithm of a probability or NaN, never a panic, and
// NaN exactly for parameters outside the domain.
func TestHostileParameters(t *testing.T) {
	hostile := []float64{0, -0.5, 0.5, 1, 2, -1, 1e-300, 1e300, 5e-324, math.MaxFloat64, 1 - 0x1p-53, nan, math.Inf(1), negInf}
	counts := []int{math.MinInt, -1, 0, 1, 5, 1 << 40, math.MaxInt}
	check := func(valid bool, name string, k int, logs ...float64) {
		for _, l := range logs {
			if l > 0 || math.IsNaN(l) == valid {
				t.Errorf("%s at %d: log probability %v", name, k, l)
			}
		}
	}
	for _, k := range counts {
		for _, x := range hostile {
			check(x >= 0 && x <= 1<<53, fmt.Sprint("poisson ", x), k,
				LogPoissonPMF(k, x), LogPoissonCDF(k, x), LogPoissonSurvival(k, x))
			check(x > 0 && x <= math.MaxFloat64, fmt.Sprint("laplace ", x), k,
				LogDiscreteLaplacePMF(k, x), LogDiscreteLaplaceCDF(k, x), LogDiscreteLaplaceSurvival(k, x))
			for _, r := range hostile {
				check(r >= 1e-290 && r <= 1e290 && x >= 0 && x < 1, fmt.Sprint("nb ", r, x), k,
					LogNegativeBinomialPMF(k, r, x), LogNegativeBinomialCDF(k, r, x), LogNegativeBinomialSurvival(k, r, x))
			}
			for _, n := range counts {
				check(n >= 0 && x >= 0 && x <= 1, fmt.Sprint("binomial ", n, x), k,
					LogBinomialPMF(k, n, x), LogBinomialCDF(k, n, x), LogBinomialSurvival(k, n, x))
			}
		}
	}
}
