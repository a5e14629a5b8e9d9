package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/prob"
)

// DerivedCrowds are one-hot reports in crowds that a hash of the value names: what
// ESA, section V, advises against. They are an experiment and no more.
//
// The name of the crowd tells of the value, so it is randomized itself, by k-ary
// response of CrowdEpsilon, and the report by what is left of the local epsilon. An
// analyzer looks for a value in its own crowd alone, where there is less noise.
const DerivedCrowds = "derived-crowds"

// derivedCrowds is the design of h for n respondents over k cells.
func (h Histogram) derivedCrowds(n, k int) histogramDesign {
	m, crowds := symmetricBits(k, h.Local-h.CrowdEpsilon), float64(h.Crowds)
	// P(the own crowd is named) and P(a given other one is).
	own := math.Exp(h.CrowdEpsilon) / (math.Exp(h.CrowdEpsilon) + crowds - 1)
	other := (1 - own) / (crowds - 1)
	local := h.Local
	return histogramDesign{
		draw: func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
			return h.drawCrowds(r, m, own, other, holders), nil
		},
		state: func(res *HistogramResult) {
			res.Delta, res.Method, res.EpsilonLocal, res.EpsilonAlone = h.Delta, fmt.Sprintf("epsilon %g of the report and %g of the crowd", h.Local-h.CrowdEpsilon, h.CrowdEpsilon), &local, &local
			res.Keep, res.Flip = m.Keep, m.Flip
			res.MessagesPerDevice, res.EnvelopesPerDevice = m.Messages(1), m.SmallestCap(1, h.overflow(0, n))
			res.BytesPerDevice = res.EnvelopesPerDevice * envelope.X25519.Size(hops+1, fragment.Size(tally.MessageBytes))
		},
	}
}

// drawCrowds draws the estimates from their law. The crowd of cell i is i modulo the
// number of crowds, which is as good as a hash that spreads neighbours.
func (h Histogram) drawCrowds(r *rand.Rand, m randomize.OneHot, own, other float64, holders []int) []estimate.Value {
	sizes, inOwn, total := make([]int, h.Crowds), make([]int, len(holders)), 0
	stray := make([]int, h.Crowds) // by the crowd they belong to
	for i, f := range holders {
		inOwn[i] = prob.DrawBinomial(r, f, own)
		sizes[i%h.Crowds] += inOwn[i]
		stray[i%h.Crowds] += f - inOwn[i]
		total += f
	}
	for from, left := range stray { // to the others, all alike
		rest := h.Crowds - 1
		for to := range h.Crowds {
			if to == from {
				continue
			}
			moved := prob.DrawBinomial(r, left, 1/float64(rest))
			sizes[to] += moved
			left, rest = left-moved, rest-1
		}
	}
	out := make([]estimate.Value, len(holders))
	for i := range holders {
		n := sizes[i%h.Crowds]
		ones := prob.DrawBinomial(r, inOwn[i], m.Keep) + prob.DrawBinomial(r, n-inOwn[i], m.Flip)
		out[i] = m.Estimate(uint64(ones), n).Scale(1 / own)
	}
	return out
}
