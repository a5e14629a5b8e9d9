package bitnoise

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
)

// Each integer noise against sums over all outputs in either world.
func TestIntegerNoiseEnumerated(t *testing.T) {
	type world func(x int) float64
	for name, c := range map[string]struct {
		event account.Event
		p, q  world
	}{
		"discrete Laplace, unit": {additive.DiscreteLaplace{Noise: 0.7, Sensitivity: 1},
			func(x int) float64 { return math.Exp(-0.7*math.Abs(float64(x-1))) * math.Tanh(0.35) },
			func(x int) float64 { return math.Exp(-0.7*math.Abs(float64(x))) * math.Tanh(0.35) }},
		"discrete Laplace, three": {additive.DiscreteLaplace{Noise: 0.4, Sensitivity: 3},
			func(x int) float64 { return math.Exp(-0.4*math.Abs(float64(x-3))) * math.Tanh(0.2) },
			func(x int) float64 { return math.Exp(-0.4*math.Abs(float64(x))) * math.Tanh(0.2) }},
		"discrete Gaussian": {additive.DiscreteGaussian{Sigma: 2.5, Sensitivity: 2},
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
		for _, e := range []account.Event{central.Laplace{Scale: x, Sensitivity: 1}, central.Laplace{Scale: 1, Sensitivity: x}, additive.DiscreteLaplace{Noise: x, Sensitivity: 1}, additive.DiscreteGaussian{Sigma: x, Sensitivity: 1},
			PoissonSum{10, x}} {
			if g, err := account.Epsilon(e, 1e-6); err == nil {
				t.Errorf("%+v gives %v", e, g)
			}
		}
		for _, e := range []account.Event{central.Laplace{Scale: 1, Sensitivity: 1}, additive.DiscreteLaplace{Noise: 1, Sensitivity: 1}, additive.DiscreteGaussian{Sigma: 1, Sensitivity: 1}, PoissonSum{10, 100}} {
			if g, err := account.Epsilon(e, x); err == nil {
				t.Errorf("%+v at delta %v gives %v", e, x, g)
			}
		}
		if _, err := PoissonMean(10, 1, x, 1e-6); err == nil {
			t.Errorf("epsilon %v was taken", x)
		}
	}
	for _, e := range []account.Event{additive.DiscreteLaplace{Noise: 1, Sensitivity: 0}, additive.DiscreteLaplace{Noise: 1, Sensitivity: -1}, additive.DiscreteGaussian{Sigma: 1, Sensitivity: 0}, additive.DiscreteGaussian{Sigma: 1, Sensitivity: 1 << 40}, PoissonSum{0, 10}, PoissonSum{-1, 10}} {
		if g, err := account.Epsilon(e, 1e-6); err == nil {
			t.Errorf("%+v gives %v", e, g)
		}
	}
}
