package confidence

import (
	"github.com/confetti-dp/confetti/internal/prob"

	"math"
	"testing"
)

// Coverage by enumeration, not by simulation: the probability that the interval
// misses p is a sum over all counts.
func TestBinomialIntervalCovers(t *testing.T) {
	const n, alpha = 60, 0.05
	var lo, hi [n + 1]float64
	for k := range lo {
		lo[k], hi[k] = Interval(k, n, alpha)
	}
	worst := 0.0
	for p := 0.0005; p < 1; p += 0.0005 {
		var left, right prob.Sum
		for k := range lo {
			if lo[k] > p {
				left.Add(prob.BinomialPMF(k, n, p))
			}
			if hi[k] < p {
				right.Add(prob.BinomialPMF(k, n, p))
			}
		}
		if left.Value() > alpha/2 || right.Value() > alpha/2 {
			t.Errorf("p = %v: misses %v to the left, %v to the right", p, left.Value(), right.Value())
		}
		worst = max(worst, left.Value())
	}
	if worst < 0.8*alpha/2 {
		t.Errorf("never misses more than %v: too wide", worst)
	}
}

func TestBinomialIntervalKnown(t *testing.T) {
	// No success: (1-p)^n = alpha; all successes: p^n = alpha.
	if got, want := Upper(0, 1000, 1e-6), -math.Expm1(math.Log(1e-6)/1000); !near(got, want, 1e-10) || got < want {
		t.Errorf("upper bound after 0 of 1000: %v, want %v", got, want)
	}
	if got, want := Lower(1000, 1000, 1e-6), math.Exp(math.Log(1e-6)/1000); !near(got, want, 1e-10) || got > want {
		t.Errorf("lower bound after 1000 of 1000: %v, want %v", got, want)
	}
	// One success of n: 1 - (1-p)^n = alpha.
	if got, want := Lower(1, 100_000_000, 1e-6), -math.Expm1(math.Log1p(-1e-6)/1e8); !near(got, want, 1e-10) || got > want {
		t.Errorf("lower bound after 1 of 1e8: %v, want %v", got, want)
	}
	if lo, hi := Interval(0, 0, 0.1); lo != 0 || hi != 1 {
		t.Errorf("nothing observed: [%v, %v]", lo, hi)
	}
	// Large counts agree with the normal approximation to its own error.
	lo, hi := Interval(49_860_000, 100_000_000, 1e-6)
	z := prob.NormalQuantile(1-5e-7) * math.Sqrt(0.4986*0.5014/1e8)
	if !near(hi-0.4986, z, 1e-3) || !near(0.4986-lo, z, 1e-3) {
		t.Errorf("[%v, %v] is not 0.4986 +- %v", lo, hi, z)
	}
}

func TestBinomialIntervalOutsideItsDomain(t *testing.T) {
	for _, c := range []struct {
		k, n  int
		alpha float64
	}{{-1, 5, 0.1}, {6, 5, 0.1}, {0, -1, 0.1}, {1, 5, 0}, {1, 5, 1}, {1, 5, -1}, {1, 5, math.NaN()}, {1, 5, math.Inf(1)}} {
		if got := Lower(c.k, c.n, c.alpha); !math.IsNaN(got) {
			t.Errorf("lower %+v: %v", c, got)
		}
		if got := Upper(c.k, c.n, c.alpha); !math.IsNaN(got) {
			t.Errorf("upper %+v: %v", c, got)
		}
	}
}

// near reports whether got is want within a relative tolerance.
func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}
