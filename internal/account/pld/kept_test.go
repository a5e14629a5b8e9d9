package pld

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// What was convolved for one question answers another within a millionth, and never below what is true: 100 random
// pairs of laws, in both directions and on both sides. The twin answers with any law, whatever digits it has.
func TestKeptLawsSayTheSame(t *testing.T) {
	r := stattest.Rand(t)
	asked, convolved, twin := 0, 0, 0.
	for setting := range 100 {
		local, rounds := math.Exp(r.Float64()*5-4), 1+int(math.Exp(r.Float64()*5.5))
		p, q := make([]float64, 2+r.IntN(12)), make([]float64, 14)
		sp, sq := 0.0, 0.0
		for i := range p {
			p[i] = r.ExpFloat64()
			q[i] = p[i] * math.Exp(local*(2*r.Float64()-1))
			sp, sq = sp+p[i], sq+q[i]
		}
		up, down := make([]Atom, len(p)), make([]Atom, len(p))
		for i := range p {
			up[i] = Atom{math.Log(p[i] / q[i] * sq / sp), p[i] / sp}
			down[i] = Atom{-up[i].Loss, q[i] / sq}
		}
		for _, build := range []func([]Atom, float64, float64) (*Distribution, error){FromAtoms, LowerFromAtoms} {
			d := must[*Distribution](t)(build([][]Atom{up, down}[setting%2], 0, local/math.Sqrt(float64(rounds))/10))
			kept := must[*Composition](t)(Compose(d, rounds))
			k := kept.cumulants(0)
			for range 8 {
				epsilon := math.Max(0, k.mean+math.Sqrt(k.variance)*(12*r.Float64()-3))
				before := kept.last()
				got := must[float64](t)(kept.Delta(epsilon))
				fresh := must[float64](t)(must[*Composition](t)(Compose(d, rounds)).Delta(epsilon))
				if asked++; kept.last() != before {
					convolved++
				}
				if fresh > 1e-290 && math.Abs(got/fresh-1) > 1e-6 {
					t.Errorf("lower %v, epsilon %v: %v of what was kept, %v of its own", d.lower, epsilon, got, fresh)
				}
				if far := kept.kept; fresh > 1e-290 && len(far) > 1 {
					all, _, err := far[0].deltas([]float64{epsilon}, keptDigits, 0)
					if err != nil {
						t.Fatal(err)
					}
					twin = math.Max(twin, math.Abs(all[0]/fresh-1))
				}
			}
		}
	}
	if convolved > asked/2 || twin < 1e-3 {
		t.Errorf("%d convolutions for %d questions, and a twin that errs by %v: nothing is tested", convolved, asked, twin)
	}
}

// last returns what was convolved last.
func (c *Composition) last() *tilted {
	if len(c.kept) == 0 {
		return nil
	}
	return c.kept[len(c.kept)-1]
}

// A kept law of randomized response is never below its exact profile, whatever was asked before.
func TestKeptLawsAreBounds(t *testing.T) {
	for _, build := range []func([]Atom, float64, float64) (*Distribution, error){FromAtoms, LowerFromAtoms} {
		d := must[*Distribution](t)(build(twoPoint(0.1), 0, 0.005))
		c := must[*Composition](t)(Compose(d, 200))
		for _, epsilon := range []float64{6, 1, 0, 3, 3.3, 2.9, 1.1, 8, 7.7, 0.4, 12, 11, 2} {
			got, exact := must[float64](t)(c.Delta(epsilon)), kFold(0.1, 200, epsilon)
			if d.lower && got > exact*(1+1e-9) || !d.lower && got < exact*(1-1e-9) {
				t.Errorf("lower %v: delta(%v) = %v, exactly %v", d.lower, epsilon, got, exact)
			}
		}
	}
}

// Lengths of transforms are even, no shorter than asked for, at most a third longer, and of small factors.
func TestSmooth(t *testing.T) {
	for n := 16; n < 1<<17; n += 1 + n/97 {
		m := smooth(n)
		if m < n || m%2 != 0 || float64(m) > 1.34*float64(n) {
			t.Fatalf("%d for %d", m, n)
		}
		for _, f := range []int{2, 3, 5} {
			for m%f == 0 {
				m /= f
			}
		}
		if m != 1 {
			t.Fatalf("%d for %d has another factor", smooth(n), n)
		}
	}
}
