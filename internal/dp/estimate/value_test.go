package estimate

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(1, math.Abs(b))
}

func TestQuantileIsThatOfTheNormalLaw(t *testing.T) {
	for level, want := range map[float64]float64{ // standard tables
		0.5: 0.67448975019608, 0.6826894921370859: 1, 0.95: 1.95996398454005, 0.99: 2.57582930354890, 0.9999: 3.89059188641317,
	} {
		if got := Quantile(level); !near(got, want, 1e-12) {
			t.Errorf("Quantile(%v) is %v, want %v", level, got, want)
		}
	}
	lo, hi := Value{Mean: 10, StdErr: 2}.Interval(0.95)
	if !near(lo, 10-2*1.95996398454005, 1e-12) || !near(hi, 10+2*1.95996398454005, 1e-12) {
		t.Errorf("the interval is %v to %v", lo, hi)
	}
}

func TestLevelOutsidePanics(t *testing.T) {
	for _, level := range []float64{0, 1, -0.5, 95, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("level %v did not panic", level)
				}
			}()
			Quantile(level)
		}()
	}
}

// Means add up linearly, variances by the squares of the weights.
func TestErrorsPropagate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-1e3, 1e3)
		v := Value{number.Draw(t, "v"), math.Abs(number.Draw(t, "sv"))}
		w := Value{number.Draw(t, "w"), math.Abs(number.Draw(t, "sw"))}
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		want := Value{a*v.Mean + b*w.Mean, math.Sqrt(a*a*v.StdErr*v.StdErr + b*b*w.StdErr*w.StdErr)}
		for name, got := range map[string]Value{
			"sum": Together{}.Sum([]float64{a, b}, []Block{BlockOf(v), BlockOf(w)}),
			"Add": v.Scale(a).Add(w.Scale(b)),
			"Sub": v.Scale(a).Sub(w.Scale(-b)),
		} {
			if !near(got.Mean, want.Mean, 1e-9) || !near(got.StdErr, want.StdErr, 1e-9) {
				t.Fatalf("%s gives %v, want %v", name, got, want)
			}
		}
	})
}

func TestExactHasNoError(t *testing.T) {
	if lo, hi := Exact(3).Interval(0.95); lo != 3 || hi != 3 {
		t.Fatalf("the interval of an exact number is %v to %v", lo, hi)
	}
}
