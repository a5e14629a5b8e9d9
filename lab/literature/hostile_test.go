package literature_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/lab/literature"
)

func TestTheoremsRefuseHostileParameters(t *testing.T) {
	// Each takes n, epsilon (or lambda) and delta.
	three := map[string]func(n int, x, d float64) error{
		"CheuCorollary47":          func(n int, x, d float64) error { _, err := literature.CheuCorollary47(n, x*5000, d); return err },
		"CheuZhilyaevFlip":         func(n int, x, d float64) error { _, err := literature.CheuZhilyaevFlip(n, x, d); return err },
		"ESALemmaII5":              func(n int, x, d float64) error { _, err := literature.ESALemmaII5(n, x, d); return err },
		"ESALemmaII6":              func(n int, x, d float64) error { _, err := literature.ESALemmaII6(n, x*5000, d); return err },
		"ESATheoremIII1":           func(n int, x, d float64) error { _, err := literature.ESATheoremIII1(n, x*2, d); return err },
		"ESATheoremVI1":            func(n int, x, d float64) error { _, err := literature.ESATheoremVI1(n, x, 7, d); return err },
		"ESATheoremIV2":            func(n int, x, d float64) error { _, err := literature.ESATheoremIV2(n, 3*x, 3*x, 4, d); return err },
		"ClonesClosedForm":         func(n int, x, d float64) error { _, err := literature.ClonesClosedForm(n, x, d); return err },
		"StrongerClonesClosedForm": func(n int, x, d float64) error { _, err := literature.StrongerClonesClosedForm(n, x, d); return err },
		"ErlingssonTheorem7":       func(n int, x, d float64) error { _, err := literature.ErlingssonTheorem7(n, x/2, d); return err },
		"BalleTheorem31":           func(n int, x, d float64) error { _, err := literature.BalleTheorem31(n, 2, x, d); return err },
		"BlanketAny": func(n int, x, d float64) error {
			_, err := literature.BlanketAny(n, x, d, literature.Hoeffding)
			return err
		},
		"BlanketSymbols": func(n int, x, d float64) error {
			_, err := literature.BlanketSymbols(n, 2, x, d, literature.Bennett)
			return err
		},
	}
	for name, f := range three {
		if err := f(20000, 0.9, 1e-5); err != nil {
			t.Errorf("%s refuses good parameters: %v", name, err)
		}
		for _, n := range []int{0, -1, math.MinInt} {
			if f(n, 0.9, 1e-5) == nil {
				t.Errorf("%s takes n = %d", name, n)
			}
		}
		for _, x := range accounttest.Hostile {
			if f(20000, x, 1e-5) == nil {
				t.Errorf("%s takes %v for epsilon", name, x)
			}
			if f(20000, 0.9, x) == nil {
				t.Errorf("%s takes %v for delta", name, x)
			}
		}
		if f(20000, 0.9, 1) == nil {
			t.Errorf("%s takes delta = 1", name)
		}
	}
	two := map[string]func(x, y float64) error{
		"GKMPS21Lemma9":  func(x, y float64) error { _, err := literature.GKMPS21Lemma9(x, y, 0.1); return err },
		"ESACorollaryA2": func(x, y float64) error { _, err := literature.ESACorollaryA2(x, y); return err },
		"ESATheoremV1":   func(x, y float64) error { _, _, err := literature.ESATheoremV1(x, y); return err },
	}
	for name, f := range two {
		if err := f(0.5, 0.01); err != nil {
			t.Errorf("%s refuses good parameters: %v", name, err)
		}
		for _, x := range accounttest.Hostile {
			if f(x, 0.01) == nil {
				t.Errorf("%s takes %v first", name, x)
			}
			if f(0.5, x) == nil {
				t.Errorf("%s takes %v second", name, x)
			}
		}
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1), 1e300} {
		if _, err := literature.KDESupRMSE(x, 1, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes beta %v", x)
		}
		if _, err := literature.KDESupRMSE(0, x, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes R %v", x)
		}
		if _, err := literature.KDESupRMSE(0, 1, 1, 10, x, 10); err == nil {
			t.Errorf("KDESupRMSE takes RMSE %v", x)
		}
	}
}

func TestHostileCompositionsAreErrors(t *testing.T) {
	for name, f := range map[string]func(epsilon float64, k int, slack float64) (float64, error){
		"basic": func(e float64, k int, _ float64) (float64, error) { return literature.Basic(e, k) },
		"DRV":   literature.DworkRothblumVadhan, "tanh": literature.DworkRothblumVadhanTight, "Bun-Steinke": literature.BunSteinke,
	} {
		for _, x := range accounttest.Hostile {
			if v, err := f(x, 10, 1e-6); err == nil {
				t.Errorf("%s at epsilon %v: %v", name, x, v)
			}
			if v, err := f(0.1, 10, x); err == nil && name != "basic" {
				t.Errorf("%s at slack %v: %v", name, x, v)
			}
		}
		for _, k := range []int{0, -1, math.MaxInt} {
			if v, err := f(0.1, k, 1e-6); err == nil {
				t.Errorf("%s of %d rounds: %v", name, k, v)
			}
		}
	}
}
