package pld

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// smoothLaw returns a law of some hundred losses on a grid, a Gaussian with a bend.
func smoothLaw(t *testing.T, bend float64) *Distribution {
	atoms, total := []Atom{}, 0.
	for i := -300; i <= 300; i++ {
		x := float64(i) / 60
		m := math.Exp(-x*x/2) * (1 + bend*math.Sin(x))
		atoms, total = append(atoms, Atom{float64(i) * 1e-4, m}), total+m
	}
	for i := range atoms {
		atoms[i].Mass /= total
	}
	return must[*Distribution](t)(FromAtoms(atoms, 0, 1e-4))
}

// tiltedLaws returns those of all parts.
func (c *Composition) tiltedLaws(theta float64) (laws [][]float64) {
	for _, p := range c.parts {
		laws = append(laws, p.tilt(theta))
	}
	return laws
}

// What is written out from the band is what a transform of all gives, within the slack of both, at random tilts and
// rounds, of one law and of two. The twin leaves out the last tenth of the band.
func TestBandIsTheWhole(t *testing.T) {
	r := stattest.Rand(t)
	narrow, caught := 0, 0
	for range 30 {
		c := must[*Composition](t)(Compose(smoothLaw(t, 0.9*r.Float64()), 100+r.IntN(2000)))
		if r.IntN(2) == 0 {
			if err := c.Add(smoothLaw(t, 0), 1+r.IntN(100)); err != nil {
				t.Fatal(err)
			}
		}
		at := c.point(20 * r.Float64())
		low, high := c.window(at)
		n := smooth(high - low + 1)
		laws := c.tiltedLaws(at.theta)
		got, e, ok := c.narrow(laws, low, n)
		if !ok {
			continue
		}
		narrow++
		want, whole := c.wide(laws, low, n)
		apart := 0.
		for i := range want {
			apart += math.Abs(got[i] - want[i])
		}
		slack := 4 * roundoff * 20 * (math.Sqrt(e) + math.Sqrt(whole))
		if apart > slack || !(e <= whole*(1+1e-6)) || e < whole/2 {
			t.Errorf("%d points from %d frequencies are %v apart, more than %v; the errors' squares are %v and %v", n, c.band(laws, n), apart, slack, e, whole)
		}
		// What lies at the end of the band is far less than the slack; nine tenths of it are not nothing.
		if band := c.band(laws, n); cut(c, laws, n, band/8) > slack {
			caught++
		}
	}
	if narrow < 20 || caught < narrow {
		t.Errorf("%d of 30 compositions had a band, and %d twins were caught", narrow, caught)
	}
}

// cut returns how large the transform of the composition is beyond a frequency.
func cut(c *Composition, laws [][]float64, n, beyond int) (most float64) {
	r := rootsOf(n)
	for f := beyond; f < beyond+20; f++ {
		size := 1.
		for i, p := range c.parts {
			z := r.transform(laws[i], 0, f)
			size *= math.Pow(math.Hypot(real(z), imag(z)), float64(p.rounds))
		}
		most = math.Max(most, size)
	}
	return most
}

// A law on every other point has a transform that is as large at the highest frequency as at the lowest: no band may
// leave that out, as one would that is found in the low half alone.
func TestLatticesHaveNoBand(t *testing.T) {
	d := smoothLaw(t, 0.5)
	even := make([]float64, 2*len(d.mass))
	for i, m := range d.mass {
		even[2*i] = m
	}
	for _, law := range [][]float64{d.mass, even} {
		c := &Composition{parts: []part{{&Distribution{step: d.step, mass: law}, 1000}}}
		const n = 1 << 15
		band := c.band([][]float64{law}, n)
		beyond := 0
		for f := n/2 - 20; f > 0 && beyond == 0; f -= 20 {
			if cut(c, [][]float64{law}, n, f) > math.Exp(negligible) {
				beyond = f
			}
		}
		if lattice := len(law) == len(even); beyond > band || lattice != (band > n/4) {
			t.Errorf("a band up to %d of %d, and the transform is there at %d", band, n, beyond)
		}
		if _, _, ok := c.narrow([][]float64{law}, 0, n); ok != (len(law) == len(d.mass)) {
			t.Errorf("written out: %v, with a band of %d", ok, band)
		}
	}
}
