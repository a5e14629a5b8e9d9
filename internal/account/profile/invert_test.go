package profile

import (
	"errors"
	"math"
	"testing"
)

// Invert meets the least epsilon from above for curves that bend, are steep, have corners
// or jumps, or end in zero, and asks for few of their values.
func TestInvert(t *testing.T) {
	gaussian := func(sigma float64) func(float64) float64 {
		phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
		return func(e float64) float64 {
			return phi(1/(2*sigma)-e*sigma) - math.Exp(e)*phi(-1/(2*sigma)-e*sigma)
		}
	}
	for name, c := range map[string]struct {
		f    func(float64) float64
		most int // values
	}{
		"wide":      {gaussian(0.3), 20},
		"narrow":    {gaussian(40), 40},
		"line":      {func(e float64) float64 { return math.Max(0, 0.5-e/100) }, 50},
		"corner":    {func(e float64) float64 { return math.Exp(-e - 30*math.Max(0, e-12)) }, 35},
		"jump":      {func(e float64) float64 { return map[bool]float64{true: 0.9, false: 0}[e < math.Pi] }, 70},
		"small":     {func(e float64) float64 { return 0.9 * math.Exp(-1e7*e) }, 60},
		"staircase": {func(e float64) float64 { return math.Exp(-math.Floor(16*e) / 16) }, 90},
	} {
		for _, delta := range []float64{0.3, 1e-6, 1e-9} {
			asked := 0
			got, err := Invert(func(e float64) (float64, error) { asked++; return c.f(e), nil }, delta)
			if err != nil || !(c.f(got) <= delta) || got > 0 && !(c.f(got*(1-3e-14)) > delta) {
				t.Errorf("%s at %v: %v has %v, a little less %v; %v", name, delta, got, c.f(got), c.f(got*(1-3e-14)), err)
			}
			if asked > c.most {
				t.Errorf("%s at %v: %d values, at most %d", name, delta, asked, c.most)
			}
		}
	}
}

func TestInvertAtTheEnds(t *testing.T) {
	always := func(d float64) func(float64) (float64, error) {
		return func(float64) (float64, error) { return d, nil }
	}
	if e, err := Invert(always(0.1), 0.1); e != 0 || err != nil {
		t.Errorf("%v, %v", e, err)
	}
	if e, err := Invert(always(0.2), 0.1); !math.IsInf(e, 1) || err != nil {
		t.Errorf("%v, %v", e, err)
	}
	for _, delta := range []float64{0, 1, math.NaN()} {
		if _, err := Invert(always(0), delta); err == nil {
			t.Errorf("delta %v was taken", delta)
		}
	}
	failed := errors.New("no")
	for _, at := range []float64{0, 0.4, 1} {
		if _, err := Invert(func(e float64) (float64, error) {
			if e <= at {
				return 0.5, failed
			}
			return math.Exp(-e * e * 30), nil
		}, 0.01); err != failed && at != 0.4 {
			t.Errorf("at %v: %v", at, err)
		}
	}
}
