package prob

import (
	"math"
	"testing"
)

// Transformed rejection draws the right law if for every u the density that it undoes is
// at most one (else some k would be too rare) and, where it accepts without looking, at
// least what it accepts (else some would be too frequent). Checked on a grid of u, from
// the least mean on which it is used to the largest. A twin with a lower hat, or one that
// accepts more without looking, breaks a bound.
func TestRejectionIsSound(t *testing.T) {
	broken := func(n int, p float64, change func(*transform)) bool {
		c := newTransform(n, p)
		change(&c)
		mode := LogBinomialPMF(int(float64(n+1)*p), n, p)
		const steps = 20_000
		for i := 1; i < steps; i++ {
			u := float64(i)/steps - 0.5
			within := 0.5 - math.Abs(u)
			k := math.Floor((2*c.a/within+c.b)*u + c.c)
			if k < 0 || k > float64(n) { // it looks at the range first
				continue
			}
			density := math.Exp(LogBinomialPMF(int(k), n, p)-mode) * (c.a/(within*within) + c.b) / c.alpha
			if density > 1 || within >= 0.07 && density < c.certain {
				return true
			}
		}
		return false
	}
	for _, mean := range []float64{10, 10.3, 11, 12.5, 15, 20, 40, 100, 457, 1e4, 1e6, 1e9} {
		for _, p := range []float64{1e-9, 2.26e-6, 0.01, 0.1, 0.3, 0.5} {
			n := int(math.Ceil(mean / p))
			if broken(n, p, func(*transform) {}) {
				t.Errorf("rejection is not sound for %d trials of %v", n, p)
			}
			if !broken(n, p, func(c *transform) { c.alpha *= 0.87 }) {
				t.Errorf("a hat too low passes for %d trials of %v", n, p)
			}
			if !broken(n, p, func(c *transform) { c.certain = 0.94 }) {
				t.Errorf("certainty too early passes for %d trials of %v", n, p)
			}
		}
	}
}
