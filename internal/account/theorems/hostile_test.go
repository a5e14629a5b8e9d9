package theorems_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

func TestTheoremsRefuseHostileParameters(t *testing.T) {
	// Each takes n, epsilon (or lambda) and delta.
	three := map[string]func(n int, x, d float64) error{
		"CheuCorollary47":       func(n int, x, d float64) error { _, err := theorems.CheuCorollary47(n, x*5000, d); return err },
		"CheuCorollary47Lambda": func(n int, x, d float64) error { _, err := theorems.CheuCorollary47Lambda(n, x, d); return err },
		"CheuLemma48":           func(n int, x, d float64) error { _, err := theorems.CheuLemma48(n, x, d); return err },
		"CheuZhilyaevFlip":      func(n int, x, d float64) error { _, err := theorems.CheuZhilyaevFlip(n, x, d); return err },
		"ESALemmaII5":           func(n int, x, d float64) error { _, err := theorems.ESALemmaII5(n, x, d); return err },
		"ESALemmaII6":           func(n int, x, d float64) error { _, err := theorems.ESALemmaII6(n, x*5000, d); return err },
		"ESATheoremIII1":        func(n int, x, d float64) error { _, err := theorems.ESATheoremIII1(n, x*2, d); return err },
		"ESATheoremVI1":         func(n int, x, d float64) error { _, err := theorems.ESATheoremVI1(n, x, 7, d); return err },
		"ESATheoremIV2":         func(n int, x, d float64) error { _, err := theorems.ESATheoremIV2(n, 3*x, 3*x, 4, d); return err },
		"Clones": func(n int, x, d float64) error {
			_, err := account.Epsilon(amplify.AnyRandomizer{Users: n, Epsilon: x}, d)
			return err
		},
		"ClonesClosedForm":         func(n int, x, d float64) error { _, err := theorems.ClonesClosedForm(n, x, d); return err },
		"StrongerClonesClosedForm": func(n int, x, d float64) error { _, err := theorems.StrongerClonesClosedForm(n, x, d); return err },
		"ErlingssonTheorem7":       func(n int, x, d float64) error { _, err := theorems.ErlingssonTheorem7(n, x/2, d); return err },
		"BalleTheorem31":           func(n int, x, d float64) error { _, err := theorems.BalleTheorem31(n, 2, x, d); return err },
		"BlanketAny": func(n int, x, d float64) error {
			_, err := theorems.BlanketAny(n, x, d, theorems.Hoeffding)
			return err
		},
		"BlanketSymbols": func(n int, x, d float64) error {
			_, err := theorems.BlanketSymbols(n, 2, x, d, theorems.Bennett)
			return err
		},
		"KaryResponse": func(n int, x, d float64) error {
			_, err := account.Epsilon(amplify.KaryResponse{Users: n, K: 3, Epsilon: x}, d)
			return err
		},
		"AnyRandomizer": func(n int, x, d float64) error {
			_, err := account.Epsilon(amplify.AnyRandomizer{Users: n, Epsilon: x}, d)
			return err
		},
		"Fragments": func(n int, x, d float64) error {
			_, err := shuffle.Fragments{Users: n, Backstop: x, Fragment: x, Tau: 4, Adjacency: account.Removal}.Central(d)
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
		"GKMP20Theorem1":  func(x, y float64) error { _, err := theorems.GKMP20Theorem1(x, y, 0.1); return err },
		"GKMP20Theorem13": func(x, y float64) error { _, _, err := theorems.GKMP20Theorem13(x, y, 3); return err },
		"GKMPS21Lemma9":   func(x, y float64) error { _, err := theorems.GKMPS21Lemma9(x, y, 0.1); return err },
		"KDEAppendixA2":   func(x, y float64) error { _, err := theorems.KDEAppendixA2(x, y, theorems.KDEPrintedShare); return err },
		"gamma":           func(x, y float64) error { _, err := theorems.GKMP20Theorem1(0.5, x, y); return err },
		"ESACorollaryA2":  func(x, y float64) error { _, err := theorems.ESACorollaryA2(x, y); return err },
		"ESATheoremIV1":   func(x, y float64) error { _, err := theorems.ESATheoremIV1(x, y, 3); return err },
		"NewCrowd":        func(x, y float64) error { _, err := additive.NewCrowd(x, y); return err },
		"ESATheoremV1":    func(x, y float64) error { _, _, err := theorems.ESATheoremV1(x, y); return err },
		"KDETheorem32": func(x, y float64) error {
			_, err := theorems.KDETheorem32(account.Guarantee{Epsilon: x, Rounds: 1}, 1, 10, y)
			return err
		},
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
		if _, err := theorems.KDESupRMSE(x, 1, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes beta %v", x)
		}
		if _, err := theorems.KDESupRMSE(0, x, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes R %v", x)
		}
		if _, err := theorems.KDESupRMSE(0, 1, 1, 10, x, 10); err == nil {
			t.Errorf("KDESupRMSE takes RMSE %v", x)
		}
	}
}
