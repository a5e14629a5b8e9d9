package esa

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/prob"
)

// payloadBytes is what plans are designed with.
const payloadBytes = 8

// curator sees all counts and adds normal noise. Removal changes one count by
// one, replacement two.
func (h asked) curator() (design, error) {
	sensitivity := 1.
	if h.Adjacency == account.Replacement {
		sensitivity = math.Sqrt2
	}
	e, g, err := additive.CalibrateGaussian(account.Target{Users: 1, Rounds: 1, Epsilon: h.Epsilon, Delta: h.Delta}, sensitivity)
	if err != nil {
		return design{}, fmt.Errorf("central noise: %w", err)
	}
	sent := promised(g)
	sent.MessagesPerDevice, sent.EnvelopesPerDevice, sent.BytesPerDevice = 1, 1, envelope.X25519.Size(experiments.Hops+1, payloadBytes)
	return design{
		draw: func(r *rand.Rand, holders []int) (counted, error) {
			out := make([]estimate.Value, len(holders))
			for i, f := range holders {
				out[i] = estimate.Value{Mean: float64(f) + e.Sigma*r.NormFloat64(), StdErr: e.Sigma}
			}
			return counted{values: out}, nil
		},
		promised: sent, sigma: e.Sigma,
	}, nil
}

// derivedCrowds are one-hot reports in crowds that a hash of the value names.
//
// The name of the crowd tells of the value, so it is randomized itself, by k-ary
// response of CrowdEpsilon, and the report by what is left of the local epsilon. An
// analyzer looks for a value in its own crowd alone, where there is less noise.
func (h asked) derivedCrowds(n, k int) design {
	m, crowds := randomize.Symmetric(k, h.LocalEpsilon-h.CrowdEpsilon, account.Removal), float64(h.Crowds)
	own := math.Exp(h.CrowdEpsilon) / (math.Exp(h.CrowdEpsilon) + crowds - 1) // P(the own crowd is named)
	local := h.LocalEpsilon
	sent := experiments.Promised{
		Delta: h.Delta, Adjacency: string(h.Adjacency), Method: fmt.Sprintf("epsilon %g of the report and %g of the crowd", h.LocalEpsilon-h.CrowdEpsilon, h.CrowdEpsilon),
		EpsilonLocal: &local, EpsilonAlone: &local, MessagesPerDevice: m.Messages(1),
		EnvelopesPerDevice: m.SmallestCap(1, h.Delta/100/(2*float64(n))), // a hundredth of delta is left to reports that outgrow them
	}
	sent.BytesPerDevice = sent.EnvelopesPerDevice * envelope.X25519.Size(experiments.Hops+1, payloadBytes)
	return design{
		draw: func(r *rand.Rand, holders []int) (counted, error) {
			return counted{values: h.drawCrowds(r, m, own, holders)}, nil
		},
		promised: sent,
	}
}

// drawCrowds draws the estimates from their law. The crowd of cell i is i modulo the
// number of crowds, which is as good as a hash that spreads neighbours.
func (h asked) drawCrowds(r *rand.Rand, m randomize.OneHot, own float64, holders []int) []estimate.Value {
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
