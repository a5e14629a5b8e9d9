package additive

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// Each integer noise against sums over all outputs in either world.
func TestIntegerNoiseEnumerated(t *testing.T) {
	type world func(x int) float64
	for name, c := range map[string]struct {
		event account.Event
		p, q  world
	}{
		"discrete Laplace, unit": {DiscreteLaplace{0.7, 1},
			func(x int) float64 { return math.Exp(-0.7*math.Abs(float64(x-1))) * math.Tanh(0.35) },
			func(x int) float64 { return math.Exp(-0.7*math.Abs(float64(x))) * math.Tanh(0.35) }},
		"discrete Laplace, three": {DiscreteLaplace{0.4, 3},
			func(x int) float64 { return math.Exp(-0.4*math.Abs(float64(x-3))) * math.Tanh(0.2) },
			func(x int) float64 { return math.Exp(-0.4*math.Abs(float64(x))) * math.Tanh(0.2) }},
		"discrete Gaussian": {DiscreteGaussian{2.5, 2},
			func(x int) float64 { return discreteNormal(x-2, 2.5) },
			func(x int) float64 { return discreteNormal(x, 2.5) }},
		"Poisson": {PoissonSum{10, 20},
			func(x int) float64 { return poisson(x-1, 20) },
			func(x int) float64 { return poisson(x, 20) }},
		"Poisson, small": {PoissonSum{10, 8},
			func(x int) float64 { return poisson(x-1, 8) },
			func(x int) float64 { return poisson(x, 8) }},
	} {
		for _, epsilon := range []float64{0, 0.05, 0.3, 0.65, 1, 1.5} {
			there, back := 0.0, 0.0
			for x := -200; x <= 400; x++ {
				p, q := c.p(x), c.q(x)
				there += math.Max(0, p-math.Exp(epsilon)*q)
				back += math.Max(0, q-math.Exp(epsilon)*p)
			}
			g, err := account.Delta(c.event, epsilon)
			if err != nil {
				t.Fatal(name, err)
			}
			if want := math.Max(there, back); math.Abs(g.Delta-want) > 1e-9*want+1e-13 {
				t.Errorf("%s: delta(%v) = %v, want %v", name, epsilon, g.Delta, want)
			}
		}
		once, err := account.Epsilon(c.event, 1e-3)
		if err != nil {
			t.Fatal(name, err)
		}
		if d, err := account.Delta(c.event, once.Epsilon); err != nil || d.Delta > 1e-3*(1+1e-12) {
			t.Errorf("%s: delta at its own epsilon is %v, %v", name, d.Delta, err)
		}
		// The loss distribution of one round is the same mechanism.
		twice, err := account.Epsilon(account.All{Events: []account.Event{c.event, account.Repeat{Event: c.event, Rounds: 2}}}, 0.06)
		low, err2 := account.LowerEpsilon(account.All{Events: []account.Event{c.event, account.Repeat{Event: c.event, Rounds: 2}}}, 0.06)
		if err != nil || err2 != nil || low.Epsilon > twice.Epsilon || twice.Epsilon < once.Epsilon/3 {
			t.Errorf("%s: three rounds from %v to %v, %v, %v", name, low.Epsilon, twice.Epsilon, err, err2)
		}
	}
}

func discreteNormal(x int, sigma float64) float64 {
	sum := 0.0
	for z := -100; z <= 100; z++ {
		sum += math.Exp(-float64(z*z) / (2 * sigma * sigma))
	}
	return math.Exp(-float64(x*x)/(2*sigma*sigma)) / sum
}

func poisson(x int, mean float64) float64 {
	if x < 0 {
		return 0
	}
	return math.Exp(float64(x)*math.Log(mean) - mean - accounttest.LogFactorial(x))
}

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
		g, err := account.Epsilon(account.Repeat{Event: DiscreteLaplace{0.05, 1}, Rounds: k}, 1e-6)
		kov, err2 := profile.KairouzOhViswanath(0.05, 0, k, 1e-6)
		if err != nil || err2 != nil || g.Bound != account.Exact {
			t.Fatal(g, err, err2)
		}
		accounttest.Within(t, "epsilon", g.Epsilon, kov, 1e-12)
		// The engine, which does not know the formula.
		d, err := DiscreteLaplace{0.05, 1}.Distributions(account.Options{Step: 0.05 / 64})
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
	a, err := account.Epsilon(DiscreteLaplace{1e-4, 10000}, 1e-6)
	b, err2 := account.Epsilon(Laplace{1e4, 1e4}, 1e-6)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	accounttest.Within(t, "wide", a.Epsilon, b.Epsilon, 1e-4)
}

func TestDiscreteGaussianIsGaussian(t *testing.T) {
	a, err := account.Epsilon(DiscreteGaussian{1000, 1000}, 1e-6)
	b, err2 := account.Epsilon(Gaussian{1, 1}, 1e-6)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	// Wide against its grid; the window's neglect is 1e-4 of delta.
	accounttest.Within(t, "wide", a.Epsilon, b.Epsilon, 1e-4)
	v, err := account.Epsilon(account.Repeat{Event: DiscreteGaussianVector{10, 1}, Rounds: 100}, 1e-6)
	if err != nil || v.Epsilon < b.Epsilon || v.Epsilon > 1.2*b.Epsilon {
		t.Errorf("vector %v, Gaussian %v, %v", v, b.Epsilon, err)
	}
}

func TestPoissonMean(t *testing.T) {
	p, err := PoissonMean(10000, 1, 0.5, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	g, err := account.Epsilon(p, 1e-6)
	less, err2 := account.Epsilon(PoissonSum{p.Users, p.Mean * 0.999}, 1e-6)
	if err != nil || err2 != nil || g.Epsilon > 0.5 || less.Epsilon <= 0.5 {
		t.Errorf("at the mean %v, below %v, %v, %v", g.Epsilon, less.Epsilon, err, err2)
	}
	// Calibrated numerically it has the RMSE of randomized response.
	rr := shuffle.RandomizedResponse{Users: 1000000, Flip: p.Mean / 1e6}
	r, err := account.Epsilon(rr, 1e-6)
	if err != nil || math.Abs(r.Epsilon-0.5) > 0.03 {
		t.Errorf("randomized response of as many flips: %v, %v", r.Epsilon, err)
	}
	many, err := PoissonMean(10000, 16, 1, 1e-6)
	if err != nil || many.Mean <= p.Mean {
		t.Errorf("16 rounds: %v, %v", many, err)
	}
}

func TestNoiseRefusesHostileParameters(t *testing.T) {
	for _, x := range accounttest.Hostile {
		for _, e := range []account.Event{Laplace{x, 1}, Laplace{1, x}, DiscreteLaplace{x, 1}, DiscreteGaussian{x, 1},
			DiscreteGaussianVector{x, 1}, DiscreteGaussianVector{1, x}, PoissonSum{10, x}} {
			if g, err := account.Epsilon(e, 1e-6); err == nil {
				t.Errorf("%+v gives %v", e, g)
			}
		}
		for _, e := range []account.Event{Laplace{1, 1}, DiscreteLaplace{1, 1}, DiscreteGaussian{1, 1}, PoissonSum{10, 100}} {
			if g, err := account.Epsilon(e, x); err == nil {
				t.Errorf("%+v at delta %v gives %v", e, x, g)
			}
		}
		if _, err := PoissonMean(10, 1, x, 1e-6); err == nil {
			t.Errorf("epsilon %v was taken", x)
		}
	}
	for _, e := range []account.Event{DiscreteLaplace{1, 0}, DiscreteLaplace{1, -1}, DiscreteGaussian{1, 0}, DiscreteGaussian{1, 1 << 40}, PoissonSum{0, 10}, PoissonSum{-1, 10}} {
		if g, err := account.Epsilon(e, 1e-6); err == nil {
			t.Errorf("%+v gives %v", e, g)
		}
	}
}
