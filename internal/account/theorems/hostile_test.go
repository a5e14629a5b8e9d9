package theorems_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

func TestTheoremsRefuseHostileParameters(t *testing.T) {
	// Each takes n, epsilon (or lambda) and delta.
	three := map[string]func(n int, x, d float64) error{
		"CheuCorollary47Lambda": func(n int, x, d float64) error { _, err := theorems.CheuCorollary47Lambda(n, x, d); return err },
		"CheuLemma48":           func(n int, x, d float64) error { _, err := theorems.CheuLemma48(n, x, d); return err },
		"Clones": func(n int, x, d float64) error {
			_, err := account.Epsilon(amplify.AnyRandomizer{Users: n, Epsilon: x}, d)
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
		"GKMP20Theorem1":  func(x, y float64) error { _, err := bitnoise.GKMP20Theorem1(x, y, 0.1); return err },
		"GKMP20Theorem13": func(x, y float64) error { _, _, err := bitnoise.GKMP20Theorem13(x, y, 3); return err },
		"KDEAppendixA2":   func(x, y float64) error { _, err := bitnoise.KDEAppendixA2(x, y, bitnoise.KDEPrintedShare); return err },
		"gamma":           func(x, y float64) error { _, err := bitnoise.GKMP20Theorem1(0.5, x, y); return err },
		"ESATheoremIV1":   func(x, y float64) error { _, err := theorems.ESATheoremIV1(x, y, 3); return err },
		"NewCrowd":        func(x, y float64) error { _, err := additive.NewCrowd(x, y); return err },
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
}
