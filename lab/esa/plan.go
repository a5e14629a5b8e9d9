package esa

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// asked is what a cell asks, with the seed of its public randomness.
type asked struct {
	experiments.Histogram
	seed uint64
}

// design is a measurement whose noise has been found.
type design struct {
	draw     func(r *rand.Rand, holders []int) (counted, error) // from the law
	promised measure.Promised
	plan     *plan.Plan // nil of a baseline
	sigma    float64    // of a curator's noise
}

// counted is what one run gave.
type counted struct {
	values []estimate.Value
	table  *histogram.Table // of a plan's last collection; nil of a baseline
	rounds int              // collections that values are the mean of
}

// design finds the noise for n respondents over k cells.
func (h asked) design(n, k int) (design, error) {
	switch h.Encoding {
	case experiments.Central:
		return h.curator()
	case experiments.DerivedCrowds:
		return h.derivedCrowds(n, k), nil
	}
	p, messages, err := h.plan(n, k)
	if err != nil {
		return design{}, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return design{}, err
	}
	m := histogram.OneHot(p.Question.Histogram.Randomizer, h.width(k))
	g, err := h.promise(proto, m, n)
	if err != nil {
		return design{}, err
	}
	times := float64(h.repeats())
	local, one := times*m.Exposed(m.Tau, h.Adjacency).Epsilon, m.Exposed(1, h.Adjacency).Epsilon
	g.EpsilonLocal, g.EpsilonAlone = &local, &one
	g.MessagesPerDevice, g.EnvelopesPerDevice = times*m.Messages(1, m.Tau), h.repeats()*messages
	g.BytesPerDevice = g.EnvelopesPerDevice * envelope.X25519.Size(measure.Hops+1, p.Envelopes.PayloadBytes)
	draw := func(r *rand.Rand, holders []int) (counted, error) { return collect(proto, r, holders, h.repeats()) }
	return design{draw: draw, promised: g, plan: measure.WithoutKeys(p)}, nil
}

// promise is exact, and where ESA has a lemma for the reports, by its accounting beside that.
func (h asked) promise(proto *protocol.Protocol, m randomize.Fragmented, n int) (measure.Promised, error) {
	exact, err := proto.Shuffled(h.repeats())
	if err != nil || h.Accounting != calibrate.Paper || h.Hashes > 0 || h.repeats() > 1 {
		return measure.PromisedBy(exact), err
	}
	bits := m.Fragment
	if m.Tau > 1 {
		bits = m.Backstop
	}
	g, err := literature.ESALemmaII6(n, 2*float64(n)*bits.Flip, h.Delta)
	g.Adjacency = account.Removal // which changes one bit
	out := measure.PromisedBy(g)
	out.EpsilonExact = &exact.Epsilon
	return out, err
}

func (h asked) repeats() int { return max(1, h.Repeats) }

// width returns how many cells a report has.
func (h asked) width(cells int) int {
	switch h.Encoding {
	case experiments.CountMean:
		return h.Width
	case experiments.Count:
		return 2 * h.Width
	}
	return cells
}

// plan returns that of one of the h.Repeats collections from n respondents over so many cells,
// and the messages that it takes, which may be more than a device sends.
func (h asked) plan(n, cells int) (p plan.Plan, messages int, err error) {
	p = h.draft(n, cells, 1)
	sketched := h.Accounting == calibrate.Paper && h.Hashes > 0
	if h.repeats() > 1 || sketched && h.Epsilon > 0 {
		local, err := h.localOfEach(n, cells)
		if err != nil {
			return p, 0, err
		}
		p.Budget.Epsilon, p.Budget.LocalEpsilon = 0, local
	}
	return measure.Designed(p)
}

// localOfEach returns the local epsilon of each of the reports: with exact accounting as if one
// plan asked for all of them, which together keep the central epsilon; by the paper its
// share of that of one one-hot report.
func (h asked) localOfEach(n, cells int) (float64, error) {
	times := float64(h.repeats())
	if h.Epsilon == 0 {
		return h.LocalEpsilon / times, nil
	}
	one, answers := h, h.repeats()
	if h.Accounting == calibrate.Paper {
		one.Encoding, one.Hashes, one.Width, answers = experiments.OneHot, 0, 0, 1
	}
	p, _, err := measure.Designed(one.draft(n, cells, answers))
	if err != nil {
		return 0, err
	}
	m := histogram.OneHot(p.Question.Histogram.Randomizer, one.width(cells))
	return m.Exposed(m.Tau, h.Adjacency).Epsilon * float64(answers) / times, nil
}

// draft asks n respondents so often for the one of so many cells that each holds.
func (h asked) draft(n, cells, answers int) plan.Plan {
	ask := plan.Histogram{Randomizer: plan.Randomizer{Name: experiments.OneHot, Accounting: string(h.Accounting), Fragments: h.Fragments}}
	for i := range answers {
		ask.Attributes = append(ask.Attributes, plan.Attribute{Name: fmt.Sprintf("report %d", i+1), Kind: "categories", Size: cells})
	}
	if answers > 1 {
		ask.Collect = plan.CollectSplit
	}
	switch h.Encoding {
	case experiments.Asymmetric:
		ask.Randomizer.Name = h.Encoding
	case experiments.CountMean, experiments.Count:
		ask.Sketch = &plan.Sketch{Name: h.Encoding, Hashes: h.Hashes, Width: h.Width, Seed: measure.PublicSeed(h.seed)}
	}
	b := plan.Budget{Epsilon: h.Epsilon, LocalEpsilon: h.LocalEpsilon, Delta: h.Delta, Adjacency: string(h.Adjacency)}
	return measure.Draft(plan.Question{Kind: "histogram", Histogram: &ask}, b, n)
}

// collect returns the mean of the estimates of so many collections from the same holders.
func collect(proto *protocol.Protocol, r *rand.Rand, holders []int, rounds int) (counted, error) {
	c := counted{rounds: rounds}
	for range rounds {
		col, err := simulate.Law(proto, distribution.Holders(holders), r.Uint64(), func(string, int, int) {})
		if err != nil {
			return c, err
		}
		model, err := proto.Learn(col.Crowds)
		if err != nil {
			return c, err
		}
		c.table = model.(*histogram.Model).Tables[0]
		if rounds == 1 {
			c.values = c.table.Values
			return c, nil
		}
		if c.values == nil {
			c.values = make([]estimate.Value, len(holders))
		}
		for i, v := range c.table.Values {
			c.values[i].Mean += v.Mean / float64(rounds)
			c.values[i].StdErr = math.Hypot(c.values[i].StdErr, v.StdErr/float64(rounds))
		}
	}
	return c, nil
}

// top lists the largest estimates, with intervals of all cells at once: those of the
// plan's law or, of several collections and of baselines, of the normal law.
func (c counted) top(p *dataset.Population) []measure.TopCell {
	cells := measure.Largest(len(c.values), measure.TopCells, func(i int) float64 { return c.values[i].Mean })
	ends := func(_, cell int) (low, high float64) {
		return c.values[cell].Interval(estimate.Joint(measure.IntervalLevel, len(c.values)))
	}
	if c.table != nil && c.rounds == 1 {
		all := c.table.IntervalsAtOnce(cells, measure.IntervalLevel)
		ends = func(i, _ int) (low, high float64) { return all[i][0], all[i][1] }
	}
	return measure.Top(cells, func(cell int) string { return datasets.CellName(p, cell) }, c.values, ends, func(cell int) int { return p.Holders[cell] })
}
