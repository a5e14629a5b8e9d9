package esa

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
)

// payloadBytes is what plans are designed with.
const payloadBytes = 8

// curator sees all counts and adds discrete normal noise. Removal changes one count by
// one, replacement two.
func (h asked) curator() (design, error) {
	sensitivity := 1.
	if h.Adjacency == account.Replacement {
		sensitivity = math.Sqrt2
	}
	e, g, err := central.CalibrateGaussian(calibrate.Target{Users: 1, Rounds: 1, Epsilon: h.Epsilon, Delta: h.Delta}, sensitivity)
	if err != nil {
		return design{}, fmt.Errorf("central noise: %w", err)
	}
	g.Adjacency = h.Adjacency // which the sensitivity is of
	sent := measure.PromisedBy(g)
	sent.MessagesPerDevice, sent.EnvelopesPerDevice, sent.BytesPerDevice = 1, 1, envelope.X25519.Size(measure.Hops+1, payloadBytes)
	law := noise.DiscreteGaussian{Sigma: e.Sigma}
	return design{
		draw: func(r *rand.Rand, holders []int) (counted, error) {
			out := make([]estimate.Value, len(holders))
			for i, f := range holders {
				out[i] = estimate.Value{Mean: float64(f + law.Sample(r)), StdErr: math.Sqrt(law.Variance())}
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
	m, name := randomize.Symmetric(k, h.LocalEpsilon-h.CrowdEpsilon, account.Removal), randomize.KRR{K: h.Crowds, Epsilon: h.CrowdEpsilon}
	local := h.LocalEpsilon
	sent := measure.Promised{
		Delta: h.Delta, Adjacency: string(h.Adjacency), Method: fmt.Sprintf("epsilon %g of the report and %g of the crowd", h.LocalEpsilon-h.CrowdEpsilon, h.CrowdEpsilon),
		EpsilonLocal: &local, EpsilonAlone: &local, MessagesPerDevice: m.Messages(1),
		EnvelopesPerDevice: m.SmallestCap(1, h.Delta/100/(2*float64(n))), // a hundredth of delta is left to reports that outgrow them
	}
	sent.BytesPerDevice = sent.EnvelopesPerDevice * envelope.X25519.Size(measure.Hops+1, payloadBytes)
	return design{
		draw: func(r *rand.Rand, holders []int) (counted, error) {
			return counted{values: h.drawCrowds(r, m, name, holders)}, nil
		},
		promised: sent,
	}
}

// drawCrowds draws the estimates from their law. The crowd of cell i is i modulo the
// number of crowds, which is as good as a hash that spreads neighbours.
func (h asked) drawCrowds(r *rand.Rand, m randomize.OneHot, name randomize.KRR, holders []int) []estimate.Value {
	inOwn, sizes := make([]int, len(holders)), make([]int, h.Crowds)
	said := make([]uint64, h.Crowds)
	for i, f := range holders {
		own, of := i%h.Crowds, make([]int, h.Crowds)
		of[own] = f
		name.DrawCounts(r, of, said)
		inOwn[i] = int(said[own])
		for crowd, n := range said {
			sizes[crowd] += int(n)
		}
	}
	out := make([]estimate.Value, len(holders))
	for crowd, n := range sizes {
		var here []int
		for i := crowd; i < len(holders); i += h.Crowds {
			here = append(here, inOwn[i])
		}
		looked := m // for the cells of this crowd only
		looked.K = len(here)
		counts := make([]uint64, len(here))
		looked.DrawCounts(r, here, n, counts)
		for j, ones := range counts {
			out[crowd+j*h.Crowds] = m.Estimate(ones, n).Scale(1 / name.Prob(0, 0))
		}
	}
	return out
}
