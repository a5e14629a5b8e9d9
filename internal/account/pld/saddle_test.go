package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// few returns a composition of random laws, with rare large losses among them.
func few(t *testing.T, r *rand.Rand) *Composition {
	atoms := make([]Atom, 2+r.IntN(30))
	for i := range atoms {
		atoms[i] = Atom{Loss: r.NormFloat64(), Mass: math.Exp(-30 * r.Float64())}
		if i == 0 {
			atoms[i].Loss *= 10
		}
	}
	total := 0.0
	for _, a := range atoms {
		total += a.Mass
	}
	for i := range atoms {
		atoms[i].Mass /= total
	}
	c := new(Composition)
	for range 1 + r.IntN(2) {
		if err := c.Add(must[*Distribution](t)(FromAtoms(atoms, 0, 0.01)), 1+r.IntN(300)); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A walk over the trials of a window finds what looking at all of them finds. The twin looks at the Gaussian one alone.
func TestLowestOfAllTrials(t *testing.T) {
	r, other := stattest.Rand(t), 0
	for setting := range 200 {
		c := few(t, r)
		for _, theta := range []float64{0, 0.1, 1, 10} {
			at := c.point(theta)
			for _, side := range []float64{1, -1} {
				f := func(scale float64) float64 {
					x := scale / math.Sqrt(at.variance)
					return (c.cumulants(theta+side*x).log - at.log + 36) / x
				}
				least := math.Inf(1)
				for _, scale := range scales {
					least = math.Min(least, f(scale))
				}
				if got := lowest(f); got != least {
					t.Errorf("setting %d, tilt %v: %v, where all have %v", setting, theta, got, least)
				}
				if f(1) != least {
					other++
				}
			}
		}
	}
	if other < 100 {
		t.Errorf("the Gaussian trial is the best but %d times: nothing is tested", other)
	}
}

// A tilt has the mean that was asked for, wherever the search starts: at no tilt, or at one whose mean lies below.
func TestTiltHasTheMean(t *testing.T) {
	r := stattest.Rand(t)
	for setting := range 200 {
		c := few(t, r)
		low, high := c.cumulants(0).mean, c.highest()
		for _, share := range []float64{0.001, 0.1, 0.5, 0.9, 0.999} {
			epsilon := low + share*(high-low)
			for range 2 { // the second starts from the first
				p := c.at(epsilon)
				if off := math.Abs(p.mean - epsilon); off > 0.05*math.Sqrt(p.variance) && p.theta < 36/c.parts[0].step {
					t.Errorf("setting %d: mean %v of tilt %v for %v, which spreads by %v", setting, p.mean, p.theta, epsilon, math.Sqrt(p.variance))
				}
				c.keep(&tilted{point: c.point(p.theta * share)})
			}
		}
	}
}
