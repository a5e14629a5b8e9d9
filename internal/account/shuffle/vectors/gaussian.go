package vectors

import (
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/internal/account/recent"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/prob"
)

// slope returns the c for which every coordinate with a gap g is dominated by the
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
	return recentSlopes.Find(chargedVector{e, charge}, func() float64 { return e.findSlope(charge) })
}

type chargedVector struct {
	VectorResponse
	charge float64
}

var recentSlopes recent.Results[chargedVector, float64]

func (e VectorResponse) findSlope(charge float64) float64 {
	tau := charge / (1.2 * e.gaps())
	tail := math.Max(tau*1e-6, profile.MinTail)
	c := e.cover(slopeTerms, tail)
	if c.Others() < 1 {
		return math.Inf(1)
	}
	// rho for a slope half again as large as that of the counts' deviation,
	// which is checked at the end.
	most := 1.5 / math.Sqrt(float64(c.Others())*e.Flip*(1-e.Flip))
	shift := most * e.widest()
	if shift > 0.4 {
		return math.Inf(1)
	}
	rho := shift * shift / 24
	var law shuffle.Others
	slope := 0.0
	for i := range (c.Count() + 1) / 2 {
		// The last first: with most of the others' bits ones the tail of ones is
		// the steepest, and a large slope spares work. The first has the mirror image of that law.
		w, ok := e.count(&law, c.Others(), c.Ones(c.Count()-1-i), tail)
		if !ok {
			return math.Inf(1)
		}
		slope = steepest(w, e.Flip, tau, rho, slope)
		if 2*i < c.Count()-1 {
			slices.Reverse(w)
			slope = steepest(w, e.Flip, tau, rho, slope)
		}
	}
	if slope *= 1 + profile.LawError; slope > most {
		return math.Inf(1)
	}
	return slope
}

// steepest returns the least slope for one law w, or floor if that is larger.
//
// It walks from the right, where U is small. A quantile is only computed where
// the slope so far might not do: from an earlier point U0, with I' = z and dz =
// -dU/phi(z), I(U) >= I(U0) + (U-U0) (z0 - (U-U0)/I(U0)), and 1+z^2 has fallen.
func steepest(w []float64, flip, tau, rho, floor float64) float64 {
	center := 1 / math.Sqrt(2*math.Pi) // I(1/2)
	slope, above := floor, 0.0         // above = P(W >= t), t being index i+1
	var at0, z0, i0, loss0, least float64
	i := len(w) - 1
	for ; i >= 0; i-- {
		tail := above + flip*w[i]
		if tail >= 0.5 {
			break
		}
		above += w[i]
		need := w[i] - tau
		if need <= 0 || i0 > 0 && need <= least*(i0+(tail-at0)*(z0-(tail-at0)/i0)) {
			continue
		}
		at0, z0 = tail, -prob.NormalQuantile(tail)
		i0, loss0 = math.Exp(-z0*z0/2)*center, rho*(1+z0*z0)
		if loss0 > 0.5 {
			return math.Inf(1)
		}
		slope = max(slope, need/(i0*(1-loss0)))
		least = slope * (1 - loss0)
	}
	// From there on the largest probability decides: I(U) counts as I(1/2).
	most := 0.0
	for _, p := range w[:i+1] {
		most = max(most, p)
	}
	return max(slope, (most-tau)/(center*(1-rho)))
}

// Dominated returns the Gaussian of Theorem 1 of docs/vector-rr.md; not ok where that
// proves nothing.
func (e VectorResponse) Dominated(rounds int, tail float64) (d account.Domination, ok bool) {
	slope := e.slope(tail / float64(rounds))
	d = account.Domination{Shift: profile.Raised(slope * math.Sqrt(float64(rounds)*e.squares())), Tail: tail, Adjacency: account.Replacement}
	return d, !math.IsInf(slope, 1)
}
