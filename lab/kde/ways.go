package kde

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/bitnoise"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// way is how sums get their noise, with its numbers filled in.
type way struct {
	plan     *plan.Plan // of the first run; nil of a baseline
	promised measure.Promised
	sigma    float64 // of a curator's noise
	rmse     float64 // of one channel's sum
	unproved string  // why the plan's noise keeps no promise
	// draw draws a baseline's estimate of a channel; on a grid, from the sum of what respondents hold there.
	draw   func(r *rand.Rand, ones, users int) estimate.Value
	onGrid bool
}

// way finds the least noise that keeps the cell's budget where the smallest and the largest
// class have so many respondents.
func (b *bench) way(c experiments.Cell, least, most int) (way, error) {
	p, d := b.populations[0], c.Density
	switch d.Bitsum {
	case experiments.Curator:
		// The rounds are one vector of sums: a replaced record moves each by at most one.
		e, g, err := central.CalibrateGaussian(calibrate.Target{Epsilon: d.Epsilon, Delta: d.Delta, Users: least, Rounds: p.features.Sensitivity().Coordinates}, 1)
		w := way{promised: measure.PromisedBy(g), sigma: e.Sigma, rmse: e.Sigma, draw: gaussianSum{Sigma: e.Sigma}.drawEstimate}
		w.promised.MessagesPerDevice = 1
		return w, err
	case experiments.Holder, experiments.RealSums:
		return realSums(d, p.features, least)
	case experiments.NoPrivacy:
		return way{promised: measure.Promised{MessagesPerDevice: 1}, draw: exactSum{}.drawEstimate}, nil
	}
	draft := p.draft(labels(d))
	q := *p.question.Density
	q.Bitsum = plan.Bitsum{Name: d.Bitsum, Accounting: string(d.Accounting)}
	draft.Question.Density, draft.Crowd.Minimum = &q, least
	if d.Bitsum == experiments.Local {
		q.Bitsum.Name, draft.Crowd.Minimum = "rr", 1 // nobody else's noise is relied upon
	}
	if q.Bitsum.Divided() {
		draft.Crowd.Maximum = most // all are to count
	}
	draft.Budget.Epsilon, draft.Budget.LocalEpsilon, draft.Budget.Delta = d.Epsilon, d.LocalEpsilon, d.Delta
	return b.designed(draft, least)
}

// designed returns a plan's way, found once for all seeds of its features: calibration takes
// longer than all else.
func (b *bench) designed(draft plan.Plan, users int) (way, error) {
	keyed := draft
	q := *draft.Question.Density
	q.Kernel.Seed, keyed.Question.Density = "", &q
	text, err := json.Marshal(keyed)
	if err != nil {
		return way{}, err
	}
	known, ok := b.ways[string(text)]
	if !ok {
		known.way, known.err = b.design(draft, users)
		b.ways[string(text)] = known
	}
	return known.way, known.err
}

func (b *bench) design(draft plan.Plan, users int) (way, error) {
	share := bitnoise.KDEPrintedShare
	if sums := &draft.Question.Density.Bitsum; sums.Accounting == string(experiments.AuthorsAccounting) {
		sums.Accounting, share = string(calibrate.Paper), bitnoise.KDEAuthorsShare
	}
	p, messages, err := measure.Designed(draft)
	var w way
	if err != nil {
		var flip float64
		if flip, w.unproved = outsideDomain(draft, users, err); !b.unproved || w.unproved == "" {
			return w, &refused{err}
		}
		p = draft
		p.Question.Density.Bitsum.FlipProbability = flip
		p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = b.populations[0].features.Channels(), payloadBytes
		if _, err := simulate.NewKeys(&p); err != nil {
			return w, err
		}
	}
	if share != bitnoise.KDEPrintedShare {
		messages = 0
		if err := b.spend(share, &p); err != nil {
			return w, &refused{err}
		}
	}
	sums := p.Question.Density.Bitsum
	bits, err := density.NewBitsum(sums, p.MinHonest())
	if err != nil {
		return w, &refused{err}
	}
	half := uint64(users / 2)
	w.plan, w.rmse = &p, bits.Estimate([2]uint64{half, half}, users).StdErr
	sent := float64(b.populations[0].features.Channels()) * bits.MessagesPerUser()
	if w.promised.MessagesPerDevice = sent; w.unproved != "" {
		return w, nil
	}
	g, err := b.guarantee(p)
	if err != nil {
		return w, &refused{err}
	}
	w.promised = measure.PromisedBy(g)
	w.promised.MessagesPerDevice, w.promised.EnvelopesPerDevice = sent, messages
	if m, ok := bits.(hiding); ok {
		if local := m.LocalEpsilon(b.populations[0].features); !math.IsInf(local, 1) {
			local += max(0, float64(p.Budget.LabelEpsilon))
			w.promised.EpsilonLocal = &local
		}
	}
	return w, nil
}

// hiding is a bitsum whose devices hide their bits by themselves.
type hiding interface {
	LocalEpsilon(f *kernelmap.Features) float64
}

// spend gives the noise of a plan's 3nb another share of each round's epsilon, whose delta it
// has to keep as the printed share does.
func (b *bench) spend(share float64, p *plan.Plan) error {
	sums, users := &p.Question.Density.Bitsum, p.MinHonest()
	epsilon, delta := theorems.KDERound(calibrate.Target{Users: users, Rounds: b.populations[0].features.Sensitivity().Coordinates, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta * (1 - terms.OverflowShare)})
	flood, err := bitnoise.KDEAppendixA2(epsilon, delta, share)
	if err != nil {
		return err
	}
	sums.Noise, sums.FloodShape, sums.FloodProbability = flood.Noise, flood.Shape, flood.Prob
	g, err := account.Delta(bitnoise.ThreeNB{Users: users, Noise: flood.Noise, FloodShape: flood.Shape, FloodProb: flood.Prob}, epsilon)
	if err == nil && g.Delta > delta {
		err = fmt.Errorf("a share of %g for the noise gives delta %.3g in a round at epsilon %.3g, not %.3g", share, g.Delta, epsilon, delta)
	}
	return err
}

// payloadBytes is what plans are designed with.
const payloadBytes = 8

// guarantee is exact, or that of the paper's accounting where the plan's noise is by it.
func (b *bench) guarantee(p plan.Plan) (g account.Guarantee, err error) {
	d, honest := p.Question.Density, p.MinHonest()
	if d.Bitsum.Accounting == string(calibrate.Paper) && p.Budget.LocalEpsilon == 0 {
		_, g, err = density.DesignBitsum(plan.Bitsum{Name: d.Bitsum.Name, Accounting: d.Bitsum.Accounting}, b.populations[0].features, honest, 1, p.Budget.Epsilon, p.Budget.Delta)
		return g, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return g, err
	}
	if g, err = proto.Shuffled(1); honest == 1 {
		g.Trust = account.Local
	}
	return g, err
}

// outsideDomain returns the flip probability that the lemma's formula gives for randomized
// response where the lemma does not hold, and why it does not: what KDE measured, without a
// promise.
func outsideDomain(p plan.Plan, users int, err error) (flip float64, why string) {
	domain, ok := errors.AsType[*theorems.DomainError](err)
	if !ok || !density.Flips(p.Question.Density.Bitsum) || !(domain.Formula > 0 && domain.Formula < float64(users)) {
		return 0, ""
	}
	return domain.Formula / (2 * float64(users)), err.Error()
}

// sums draws the estimates of all channels of all classes of a population, from their law.
func (w way) sums(p *population) ([][]estimate.Value, error) {
	r := streamOf(p, forTotals)
	if w.onGrid {
		of, err := p.onGrid()
		return drawn(of, func(sum, users int) estimate.Value { return w.draw(r, sum, users) }), err
	}
	if w.plan == nil {
		return drawn(p.rounded, func(ones, users int) estimate.Value { return w.draw(r, ones, users) }), nil
	}
	run, q := *w.plan, *w.plan.Question.Density
	q.Kernel.Seed, run.Question.Density = p.question.Density.Kernel.Seed, &q
	proto, err := protocol.New(run)
	if err != nil {
		return nil, err
	}
	col, err := simulate.Law(proto, p.rounded, r.Uint64(), func(string, int, int) {})
	if err != nil {
		return nil, err
	}
	return proto.Estimate(col.Crowds), nil
}

// exactSums returns the ones themselves.
func exactSums(of *distribution.Rounded) [][]estimate.Value {
	return drawn(of, func(ones, _ int) estimate.Value { return estimate.Exact(float64(ones)) })
}

func drawn(of *distribution.Rounded, estimated func(ones, users int) estimate.Value) [][]estimate.Value {
	out := make([][]estimate.Value, len(of.Batches))
	for class, batches := range of.Batches {
		for _, k := range batches[0].Ones {
			out[class] = append(out[class], estimated(k, len(batches[0].Members)))
		}
	}
	return out
}
