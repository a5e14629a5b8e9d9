package prob

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// refLogNormalSurvival is log P(Z > z), z >= 3, from Laplace's continued fraction
// phi(z)/(z + 1/(z + 2/(z + ...))), whose level n matters as e^(-2 z sqrt(2n)).
func refLogNormalSurvival(z float64) *big.Float {
	x := bigNew(z)
	f := bigNew(z)
	for n := 2000; n >= 1; n-- {
		f = bigAdd(x, bigQuo(bigNew(float64(n)), f))
	}
	s := bigNew(0).Neg(bigQuo(bigMul(x, x), bigNew(2)))
	s.Sub(s, halfLog2Pi)
	return s.Sub(s, bigLog(f))
}

// refNormalCentre is P(0 < Z < z) = phi(z) (z + z^3/3 + z^5/15 + ...).
func refNormalCentre(z float64) *big.Float {
	sum, term := bigNew(0), bigNew(z)
	for k := 1; k < 400; k++ {
		sum.Add(sum, term)
		term = bigQuo(bigMul(term, bigMul(bigNew(z), bigNew(z))), bigNew(float64(2*k+1)))
	}
	phi := bigNew(0).Neg(bigQuo(bigMul(bigNew(z), bigNew(z)), bigNew(2)))
	return bigMul(sum, bigExp(phi.Sub(phi, halfLog2Pi)))
}

func TestNormalTails(t *testing.T) {
	for _, z := range []float64{0, 1e-9, 0.1, 0.5, 1, 2, 2.999} {
		centre := refNormalCentre(z)
		checkLog(t, LogNormalSurvival(z), bigSub(bigNew(0.5), centre), 1e-14, "survival", z)
		checkLog(t, LogNormalCDF(z), bigAdd(bigNew(0.5), centre), 1e-14, "cdf", z)
		checkLog(t, LogNormalCDF(-z), bigSub(bigNew(0.5), centre), 1e-14, "cdf", -z)
	}
	for _, z := range []float64{3, 5, 8, 9, 20, 29.999, 30, 30.001, 37.9, 40, 1000, 1e8} {
		upper := refLogNormalSurvival(z)
		checkLogLog(t, LogNormalSurvival(z), upper, 1e-14, "survival", z)
		if z < 30 { // beyond, the distribution function is one
			checkLogLog(t, LogNormalCDF(z), refComplement(upper), 1e-12, "cdf", z)
		}
	}
	// Where gonum's survival function gives 6.106e-16 and 0.
	for z, want := range map[float64]float64{8: 6.220960574271785e-16, 20: 2.753624118606233e-89} {
		if got := math.Exp(LogNormalSurvival(z)); !near(got, want, 1e-13) {
			t.Errorf("survival(%v) = %v, want %v", z, got, want)
		}
	}
}

func TestNormalQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Float64Range(-1000, 37).Draw(t, "z")
		if got := NormalLogQuantile(LogNormalCDF(z)); !(math.Abs(got-z) <= 1e-14*(1+math.Abs(z))) {
			t.Errorf("quantile of cdf(%v) = %v", z, got)
		}
	})
	for p, want := range map[float64]float64{0.5: 0, 0.975: 1.959963984540054, 0.025: -1.959963984540054, 1e-6: -4.753424308822899, 0: negInf, 1: math.Inf(1)} {
		if got := NormalQuantile(p); got != want && !(math.Abs(got-want) <= 1e-14*(1+math.Abs(want))) {
			t.Errorf("quantile(%v) = %v, want %v", p, got, want)
		}
	}
}

func TestNormalOutsideItsDomain(t *testing.T) {
	for _, p := range []float64{-1e-9, 1.0000001, nan, math.Inf(1), negInf} {
		if got := NormalQuantile(p); !math.IsNaN(got) {
			t.Errorf("quantile(%v) = %v", p, got)
		}
	}
	for _, l := range []float64{1e-300, nan, math.Inf(1)} {
		if got := NormalLogQuantile(l); !math.IsNaN(got) {
			t.Errorf("quantile of log %v = %v", l, got)
		}
	}
	for z, want := range map[float64]float64{math.Inf(1): 0, negInf: negInf} {
		if got := LogNormalCDF(z); got != want {
			t.Errorf("log cdf(%v) = %v", z, got)
		}
	}
	if got := LogNormalCDF(nan); !math.IsNaN(got) {
		t.Errorf("log cdf(NaN) = %v", got)
	}
}

// near reports whether got is want within a relative tolerance.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}
