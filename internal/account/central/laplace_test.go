package central

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

func TestLaplace(t *testing.T) {
	e := Laplace{Scale: 2, Sensitivity: 1}
	// By quadrature of the density of the output around 0 and around 1.
	for _, epsilon := range []float64{0, 0.1, 0.3, 0.499} {
		sum, h := 0.0, 1e-4
		for x := -60 + h/2; x < 61; x += h {
			p := math.Exp(-math.Abs(x-1)/2) / 4
			q := math.Exp(-math.Abs(x)/2) / 4
			sum += h * math.Max(0, p-math.Exp(epsilon)*q)
		}
		g, err := account.Delta(e, epsilon)
		if err != nil || math.Abs(g.Delta-sum) > 1e-7 {
			t.Errorf("delta(%v) = %v, want %v, %v", epsilon, g.Delta, sum, err)
		}
	}
	if g, err := account.Delta(e, 0.5); err != nil || g.Delta != 0 {
		t.Errorf("beyond its pure epsilon: %v, %v", g.Delta, err)
	}
	many, err := account.Epsilon(account.Repeat{Event: e, Rounds: 64}, 1e-6)
	kov, err2 := profile.KairouzOhViswanath(0.5, 0, 64, 1e-6)
	if err != nil || err2 != nil || !(many.Epsilon < kov && many.Epsilon > kov/2) {
		t.Errorf("64 rounds: %v, any pure mechanism %v, %v, %v", many.Epsilon, kov, err, err2)
	}
	// Order 2 by hand: ln(2/3 e^m + 1/3 e^-2m).
	accounttest.Within(t, "Renyi", e.Renyi(2), math.Log(2./3*math.Exp(0.5)+1./3*math.Exp(-1)), 1e-12)
}

func TestDiscreteLaplaceIsKOV(t *testing.T) {
	for _, k := range []int{1, 7, 100, 768} {
		g, err := account.Epsilon(account.Repeat{Event: additive.DiscreteLaplace{Noise: 0.05, Sensitivity: 1}, Rounds: k}, 1e-6)
		kov, err2 := profile.KairouzOhViswanath(0.05, 0, k, 1e-6)
		if err != nil || err2 != nil || g.Bound != account.Exact {
			t.Fatal(g, err, err2)
		}
		accounttest.Within(t, "epsilon", g.Epsilon, kov, 1e-12)
		// The engine, which does not know the formula.
		d, err := additive.DiscreteLaplace{Noise: 0.05, Sensitivity: 1}.Distributions(account.Options{Step: 0.05 / 64})
		if err != nil || len(d) != 1 {
			t.Fatal(err)
		}
		composed, err := pld.Compose(d[0], k)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := composed.Epsilon(1e-6)
		if err != nil {
			t.Fatal(err)
		}
		accounttest.Within(t, "engine", engine, kov, 1e-9)
	}
	// A wide Laplace on the integers is the continuous one.
	a, err := account.Epsilon(additive.DiscreteLaplace{Noise: 1e-4, Sensitivity: 10000}, 1e-6)
	b, err2 := account.Epsilon(Laplace{1e4, 1e4}, 1e-6)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	accounttest.Within(t, "wide", a.Epsilon, b.Epsilon, 1e-4)
}

func TestDiscreteGaussianIsGaussian(t *testing.T) {
	a, err := account.Epsilon(additive.DiscreteGaussian{Sigma: 1000, Sensitivity: 1000}, 1e-6)
	b, err2 := account.Epsilon(Gaussian{1, 1}, 1e-6)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	// Wide against its grid; the window's neglect is 1e-4 of delta.
	accounttest.Within(t, "wide", a.Epsilon, b.Epsilon, 1e-4)
}
