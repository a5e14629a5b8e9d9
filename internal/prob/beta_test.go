package prob

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRegularizedBetaKnown(t *testing.T) {
	// Symmetry: gonum is off by 9e-3 at a = 1e7.
	for _, a := range []float64{1e-3, 0.5, 1, 3, 1e4, 1e5, 1e6, 1e7, 5e7, 1e10} {
		if got := RegularizedBeta(a, a, 0.5); !near(got, 0.5, 1e-12) {
			t.Errorf("I_1/2(%v, %v) = %v", a, a, got)
		}
	}
	for _, x := range []float64{1e-20, 1e-9, 0.2, 0.5, 0.9, 1 - 1e-9} {
		for _, a := range []float64{1e-3, 0.4, 1, 17.3, 1e5} {
			// I_x(a, 1) = x^a and its reflection.
			checkLogLog(t, LogRegularizedBeta(a, 1, x), bigMul(bigNew(a), bigLog(bigNew(x))), 1e-12, "power", a, x)
			reflected := refComplement(bigMul(bigNew(a), bigLog(bigSub(bigNew(1), bigNew(x)))))
			checkLogLog(t, LogRegularizedBeta(1, a, x), reflected, 1e-12, "reflected power", a, x)
		}
		// The arcsine law, by the angle whose tangent is sqrt(x/(1-x)).
		if got, want := RegularizedBeta(0.5, 0.5, x), 2/math.Pi*math.Atan2(math.Sqrt(x), math.Sqrt(1-x)); !near(got, want, 1e-12) {
			t.Errorf("arcsine law at %v: %v, want %v", x, got, want)
		}
	}
}

// Raising a by one takes x^a y^b/(a B(a, b)) off, a term from 320-bit log-gamma:
// this ties values at real a and b together with none of the fraction's own tools.
func TestRegularizedBetaRecurrence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := math.Exp(rapid.Float64Range(-5, 16).Draw(t, "log a"))
		b := math.Exp(rapid.Float64Range(-5, 16).Draw(t, "log b"))
		mean := a / (a + b)
		z := rapid.Float64Range(-30, 30).Draw(t, "deviations")
		x := mean + z*math.Sqrt(mean*(1-mean)/(a+b+1))
		if !(x > 1e-6 && x < 1-1e-6) {
			return
		}
		big1, bigA, bigB, bigX := bigNew(1), bigNew(a), bigNew(b), bigNew(x)
		term := bigSub(bigLogGamma(bigAdd(bigA, bigB)), bigAdd(bigLogGamma(bigAdd(bigA, big1)), bigLogGamma(bigB)))
		term.Add(term, bigMul(bigA, bigLog(bigX)))
		term.Add(term, bigMul(bigB, bigLog(bigSub(big1, bigX))))
		step, _ := bigExp(term).Float64()
		before, after := RegularizedBeta(a, b, x), RegularizedBeta(a+1, b, x)
		if a+1-a != 1 { // a+1 was rounded: not the same b and step
			after = before - step
		}
		if !(math.Abs(before-after-step) <= 2e-12*before) {
			t.Errorf("I(a) - I(a+1) = %v, want %v (I = %v)", before-after, step, before)
		}
	})
}

func TestRegularizedBetaOutsideItsDomain(t *testing.T) {
	for _, c := range [][3]float64{{0, 1, 0.5}, {1, 0, 0.5}, {-1, 1, 0.5}, {nan, 1, 0.5}, {1, math.Inf(1), 0.5}, {1, 1, -0.1}, {1, 1, 1.1}, {1, 1, nan}} {
		if got := LogRegularizedBeta(c[0], c[1], c[2]); !math.IsNaN(got) {
			t.Errorf("%v: %v", c, got)
		}
	}
	if RegularizedBeta(2, 3, 0) != 0 || RegularizedBeta(2, 3, 1) != 1 {
		t.Error("wrong at the ends")
	}
}
