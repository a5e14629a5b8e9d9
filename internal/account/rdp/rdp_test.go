package rdp

import (
	"math"
	"testing"
)

func TestConversion(t *testing.T) {
	// At any order, toLogDelta inverts toEpsilon; the curve takes the best.
	c := ZeroConcentrated(0.01)
	for _, delta := range []float64{1e-3, 1e-6, 1e-12} {
		e, err := c.Epsilon(delta)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []float64{1.5, 3, 10, 40, 100} {
			one := toEpsilon(a, c(a), delta)
			if one < e*(1-1e-12) {
				t.Errorf("order %v gives %v, better than %v", a, one, e)
			}
			if back := toLogDelta(a, c(a), one); math.Abs(back-math.Log(delta)) > 1e-9 {
				t.Errorf("order %v: ln delta %v, want %v", a, back, math.Log(delta))
			}
		}
		back, err := c.Delta(e)
		if err != nil || math.Abs(back/delta-1) > 1e-6 {
			t.Errorf("delta(epsilon(%v)) = %v (%v)", delta, back, err)
		}
		// zCDP's own form of the same bound.
		a := c.Order(delta)
		own := math.Exp((a-1)*(a*0.01-e)+a*math.Log1p(-1/a)) / (a - 1)
		if math.Abs(own/delta-1) > 1e-9 {
			t.Errorf("zCDP form: %v, want %v", own, delta)
		}
	}
}

func TestRefusals(t *testing.T) {
	c := ZeroConcentrated(0.1)
	for _, x := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		if _, err := c.Epsilon(x); err == nil {
			t.Errorf("delta %v accepted", x)
		}
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := c.Delta(x); err == nil {
			t.Errorf("epsilon %v accepted", x)
		}
	}
	none := Curve(func(float64) float64 { return math.Inf(1) })
	if e, _ := none.Epsilon(1e-6); !math.IsInf(e, 1) {
		t.Errorf("no divergence is finite, yet epsilon %v", e)
	}
	if d, _ := none.Delta(1); d != 1 {
		t.Errorf("no divergence is finite, yet delta %v", d)
	}
}
