package account

import (
	"math"
	"testing"
)

// hostile numbers stand for a parameter in turn; good ones for the others.
var hostileNumbers = []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300}

func TestTheoremsRefuseHostileParameters(t *testing.T) {
	// Each takes n, epsilon (or lambda) and delta.
	three := map[string]func(n int, x, d float64) error{
		"CheuCorollary47":          func(n int, x, d float64) error { _, err := CheuCorollary47(n, x*5000, d); return err },
		"CheuCorollary47Lambda":    func(n int, x, d float64) error { _, err := CheuCorollary47Lambda(n, x, d); return err },
		"CheuLemma48":              func(n int, x, d float64) error { _, err := CheuLemma48(n, x, d); return err },
		"CheuZhilyaevFlip":         func(n int, x, d float64) error { _, err := CheuZhilyaevFlip(n, x, d); return err },
		"ESALemmaII5":              func(n int, x, d float64) error { _, err := ESALemmaII5(n, x, d); return err },
		"ESALemmaII6":              func(n int, x, d float64) error { _, err := ESALemmaII6(n, x*5000, d); return err },
		"ESATheoremIII1":           func(n int, x, d float64) error { _, err := ESATheoremIII1(n, x*2, d); return err },
		"ESATheoremIV2":            func(n int, x, d float64) error { _, err := ESATheoremIV2(n, 3*x, 3*x, 4, d); return err },
		"StrongerClones":           func(n int, x, d float64) error { _, err := StrongerClones(n, x, d); return err },
		"Clones":                   func(n int, x, d float64) error { _, err := Clones(n, x, d); return err },
		"ClonesClosedForm":         func(n int, x, d float64) error { _, err := ClonesClosedForm(n, x, d); return err },
		"StrongerClonesClosedForm": func(n int, x, d float64) error { _, err := StrongerClonesClosedForm(n, x, d); return err },
		"ErlingssonTheorem7":       func(n int, x, d float64) error { _, err := ErlingssonTheorem7(n, x/2, d); return err },
		"BalleTheorem31":           func(n int, x, d float64) error { _, err := BalleTheorem31(n, 2, x, d); return err },
		"BlanketAny":               func(n int, x, d float64) error { _, err := BlanketAny(n, x, d, Hoeffding); return err },
		"BlanketSymbols":           func(n int, x, d float64) error { _, err := BlanketSymbols(n, 2, x, d, Bennett); return err },
		"KaryResponse":             func(n int, x, d float64) error { _, err := Epsilon(KaryResponse{n, 3, x}, d); return err },
		"AnyRandomizer":            func(n int, x, d float64) error { _, err := Epsilon(AnyRandomizer{n, x}, d); return err },
		"Fragments": func(n int, x, d float64) error {
			_, err := Fragments{n, x, x, 4, Removal}.Central(d)
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
		for _, x := range hostileNumbers {
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
		"GKMP20Theorem1":  func(x, y float64) error { _, err := GKMP20Theorem1(x, y, 0.1); return err },
		"GKMP20Theorem13": func(x, y float64) error { _, _, err := GKMP20Theorem13(x, y, 3); return err },
		"GKMPS21Lemma9":   func(x, y float64) error { _, err := GKMPS21Lemma9(x, y, 0.1); return err },
		"KDEAppendixA2":   func(x, y float64) error { _, err := KDEAppendixA2(x, y, KDEPrintedShare); return err },
		"gamma":           func(x, y float64) error { _, err := GKMP20Theorem1(0.5, x, y); return err },
		"ESACorollaryA2":  func(x, y float64) error { _, err := ESACorollaryA2(x, y); return err },
		"ESATheoremIV1":   func(x, y float64) error { _, err := ESATheoremIV1(x, y, 3); return err },
		"NewCrowd":        func(x, y float64) error { _, err := NewCrowd(x, y); return err },
		"ESATheoremV1":    func(x, y float64) error { _, _, err := ESATheoremV1(x, y); return err },
		"KDETheorem32": func(x, y float64) error {
			_, err := KDETheorem32(Guarantee{Epsilon: x, Rounds: 1}, 1, 10, y)
			return err
		},
	}
	for name, f := range two {
		if err := f(0.5, 0.01); err != nil {
			t.Errorf("%s refuses good parameters: %v", name, err)
		}
		for _, x := range hostileNumbers {
			if f(x, 0.01) == nil {
				t.Errorf("%s takes %v first", name, x)
			}
			if f(0.5, x) == nil {
				t.Errorf("%s takes %v second", name, x)
			}
		}
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1), 1e300} {
		if _, err := KDESupRMSE(x, 1, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes beta %v", x)
		}
		if _, err := KDESupRMSE(0, x, 1, 10, 1, 10); err == nil {
			t.Errorf("KDESupRMSE takes R %v", x)
		}
		if _, err := KDESupRMSE(0, 1, 1, 10, x, 10); err == nil {
			t.Errorf("KDESupRMSE takes RMSE %v", x)
		}
	}
}
