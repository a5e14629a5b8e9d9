package account

import (
	"math"

	"github.com/confetti-dp/confetti/internal/prob"
)

// slope is the c for which every coordinate with a gap g is dominated by the
// Gaussian mechanism of shift c g, but for an outright failure; those of all
// coordinates together have probability at most charge. Infinite where this
// route proves nothing. docs/vector-rr.md, Theorem 1:
//
// Let W be the number of ones among the others, w its law, U(t) = P(W + B >= t)
// with B a Bernoulli(Flip), I(x) = phi(Phi^-1(x)) the Gaussian isoperimetric
// profile, and rho = (c g)^2/24 at the widest gap g, c g <= 0.4. It is enough that
//
//	w(t-1) <= c I(U(t)) (1 - rho (1+z^2)) + tau,  z = -Phi^-1(U(t)),
//
// for every t and every number of ones among the others, U(t) above 1/2 counting
// as 1/2. The failures sum to at most 1.2 tau times the sum of the gaps.
func (e VectorResponse) slope(charge float64) float64 {
	c := e.cover()
	if c.others() < 1 {
		return math.Inf(1)
	}
	tau := charge / (1.2 * e.gaps())
	// rho for a slope half again as large as that of the counts' deviation,
	// which is checked at the end.
	most := 1.5 / math.Sqrt(float64(c.others())*e.Flip*(1-e.Flip))
	shift := most * e.widest()
	if shift > 0.4 {
		return math.Inf(1)
	}
	rho := shift * shift / 24
	var law others
	slope := 0.0
	for i := range c.count() {
		w, ok := e.count(&law, c.others(), c.ones(i), math.Max(tau*1e-6, minTail))
		if !ok {
			return math.Inf(1)
		}
		slope = steepest(w, e.Flip, tau, rho, slope)
	}
	if slope *= 1 + lawError; slope > most {
		return math.Inf(1)
	}
	return slope
}

// steepest is the least slope for one law w, or floor if that is larger.
func steepest(w []float64, flip, tau, rho, floor float64) float64 {
	center := 1 / math.Sqrt(2*math.Pi) // I(1/2)
	slope, above := floor, 0.0         // above = P(W >= t), t being index i+1
	for i := len(w) - 1; i >= 0; i-- {
		if w[i] > tau {
			tail := above + flip*w[i]
			if tail >= 0.5 {
				slope = math.Max(slope, (w[i]-tau)/(center*(1-rho)))
			} else {
				z := -prob.NormalQuantile(tail)
				loss := rho * (1 + z*z)
				if loss > 0.5 {
					return math.Inf(1)
				}
				isoperimetric := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
				slope = math.Max(slope, (w[i]-tau)/(isoperimetric*(1-loss)))
			}
		}
		above += w[i]
	}
	return slope
}
