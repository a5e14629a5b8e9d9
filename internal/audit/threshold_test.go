package audit

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/bitsum"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// quiet is a progress that nobody looks at.
func quiet(int, int) {}

// above is how many of so many audits of one device's bit put epsilon above what is exact.
func above(seed uint64, audits int, alpha float64) (n int) {
	m := bitsum.RR{Flip: 0.2}
	truth := m.Local().Epsilon
	for i := range audits {
		if Bits(m, 1).scores(4*part, seed+uint64(i), quiet).Lower(0, alpha) > truth {
			n++
		}
	}
	return n
}

// A bound is too large as often as its confidence allows, where the claim is the truth.
func TestBoundsHoldAsOftenAsTheySay(t *testing.T) {
	const audits = 250
	seed := stattest.Rand(t).Uint64() >> 1
	stattest.AtMost(t, 1-Confidence, audits, above(seed, audits, 1-Confidence))
	stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, 1-Confidence, audits, above(seed, audits, 0.999)) })
}

// With scores of known rates the bound is the one of Clopper and Pearson, and grows with
// the number of scores up to the truth.
func TestBoundsComeClose(t *testing.T) {
	m, low := bitsum.RR{Flip: 0.1}, 0.0
	for _, runs := range []int{2000, 20_000, 200_000} {
		next := Bits(m, 1).scores(runs, 1, quiet).Lower(1e-6, 1-Confidence)
		if next <= low || next > m.Local().Epsilon {
			t.Errorf("%d runs: epsilon above %v, of %v, after %v", runs, next, m.Local().Epsilon, low)
		}
		low = next
	}
	if low < 0.97*m.Local().Epsilon {
		t.Errorf("epsilon above %v of %v", low, m.Local().Epsilon)
	}
}

// Nothing is found where nothing is to be seen, and everything where all is.
func TestExtremes(t *testing.T) {
	r := stattest.Rand(t)
	noise, apart := Scored{}, Scored{}
	for i := range 20_000 {
		noise.First, noise.Second = append(noise.First, r.Float64()), append(noise.Second, r.Float64())
		apart.First, apart.Second = append(apart.First, float64(-i)), append(apart.Second, float64(1+i))
	}
	if e := noise.Lower(1e-6, 1-Confidence); e > 0.1 {
		t.Errorf("equal laws: epsilon above %v", e)
	}
	if e, want := apart.Lower(0.01, 1-Confidence), math.Log(2000); e < want {
		t.Errorf("laws apart: epsilon above %v, want above %v", e, want)
	}
	if e := (Scored{[]float64{1}, []float64{2}}).Lower(0.5, 0.05); e != 0 {
		t.Errorf("of two scores: %v", e)
	}
}

// The same seed gives the same scores on any number of processors.
func TestScoresDoNotDependOnProcessors(t *testing.T) {
	o := Bits(bitsum.RR{Flip: 0.3}, 40)
	a, b := o.scores(5*part, 3, quiet), o
	b.New = func() View { // one after the other
		v := o.New()
		return func(r *rand.Rand, second bool) float64 { return v(r, second) }
	}
	c := b.scores(5*part, 3, quiet)
	for i := range a.First {
		if a.First[i] != c.First[i] || a.Second[i] != c.Second[i] {
			t.Fatalf("score %d differs", i)
		}
	}
}
