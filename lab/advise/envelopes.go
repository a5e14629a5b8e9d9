package advise

import (
	"errors"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// A device sends a fixed number of envelopes, whatever its data. Where no report
// outgrows it, the protocol is the one accounted for, and the chance that one of
// n does is at most n times that of one report under either neighbour: so
// dropping what overflows adds at most (1+e^epsilon) n P(overflow) to delta.

// overflowShare is the part of delta set aside for it: too little to be noticed
// in the noise.
const overflowShare = 1e-3

// envelopes returns a number m of envelopes that a report outgrows so rarely, and at
// most all of them. cumulants(x) is ln E e^(x N) of the number N of messages,
// +Inf where there is none. By Chernoff, P(N > m) <= e^(cumulants(x) - x m) for
// any x > 0; m is the least over x.
func (t Task) envelopes(cumulants func(x float64) float64, all float64) (int, error) {
	logTarget := math.Log(t.Delta*overflowShare) - math.Log(float64(t.Users)) - math.Log1p(math.Exp(t.Epsilon))
	// The bound is unimodal in ln x: a convex function of x over x.
	bound := func(lnx float64) float64 {
		x := math.Exp(lnx)
		return (cumulants(x) - logTarget) / x
	}
	const ratio = 0.6180339887498949 // golden section
	low, high := -25.0, 5.0
	for range 80 {
		a, b := high-ratio*(high-low), low+ratio*(high-low)
		if bound(a) <= bound(b) {
			high = b
		} else {
			low = a
		}
	}
	m := math.Min(all, math.Ceil(bound(low)))
	if !(m <= theorems.MaxCount) {
		return 0, errors.New("its reports have no useful bound on their length")
	}
	return int(m), nil
}

// nothing is the guarantee where only the noise of others hides a respondent, and where a
// curator sees the answers.
var nothing = account.Guarantee{Epsilon: math.Inf(1), Trust: account.OneFragment}

// opened returns the guarantee against an observer who sees one message of a respondent outright,
// with a loss of at most so much, and the rest among everybody's. It is no worse than that
// against everyone together.
//
// Reports outgrow their envelopes with a probability P of at most the share set aside.
// With r the rest's epsilon at a thousandth of delta, that costs
// (n + (n-1) e^r + e^(r+outright)) P (docs/histograms-privacy.md).
func (t Task) opened(event, rest account.Event, outright, local float64) account.Guarantee {
	all := account.Guarantee{
		Epsilon: local, Adjacency: account.Replacement, Trust: account.OneFragment, Users: 1, Rounds: t.rounds(),
		Bound: account.Upper, Method: "all that one device sends", Source: "basic composition; one respondent's own randomness",
	}
	spare := t.Delta / 1000
	r, err := account.Epsilon(rest, spare)
	if err != nil { // so little noise that nothing is proved of it
		return all
	}
	delta := t.Delta - spare
	if t.Domain > 0 {
		n := float64(t.Users)
		delta -= t.Delta * overflowShare / (n * (1 + math.Exp(t.Epsilon))) * (n + (n-1)*math.Exp(r.Epsilon) + math.Exp(r.Epsilon+outright))
	}
	if !(delta > 0) {
		return all
	}
	g, err := account.Epsilon(event, delta)
	if err != nil || g.Epsilon >= local {
		return all
	}
	g.Delta, g.Adjacency, g.Trust, g.Users, g.Bound = t.Delta, account.Replacement, account.OneFragment, t.Users, account.Upper
	return g
}

// bernoulliMGF is ln E e^(x B), B ~ Bernoulli(p).
func bernoulliMGF(p, x float64) float64 { return math.Log1p(p * math.Expm1(x)) }

// negativeBinomialMGF is ln E e^(x Z), Z ~ NB(r, p), +Inf from p e^x = 1 on.
func negativeBinomialMGF(r, p, x float64) float64 {
	if !(p*math.Exp(x) < 1) {
		return math.Inf(1)
	}
	return r * (math.Log1p(-p) - math.Log1p(-p*math.Exp(x)))
}

// floodMGF is ln E e^(x F) of the flood of all users together: a compound
// Poisson law with rate e^(Theta j)/j of j messages, j = 1..Size.
func floodMGF(e bitnoise.Pure, x float64) float64 {
	sum := 0.0
	for j := 1; j <= e.Size; j++ {
		sum += math.Exp(e.Theta*float64(j)) * math.Expm1(x*float64(j)) / float64(j)
		if math.IsInf(sum, 1) {
			break
		}
	}
	return sum
}

// logMix is ln(p e^a + (1-p) e^b).
func logMix(p, a, b float64) float64 {
	m := math.Max(a, b)
	return m + math.Log(p*math.Exp(a-m)+(1-p)*math.Exp(b-m))
}
