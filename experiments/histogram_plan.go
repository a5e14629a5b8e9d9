package experiments

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/theorems"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// histogramDesign is a measurement whose noise has been found.
type histogramDesign struct {
	// draw draws estimates of all cells from their law.
	draw  func(r *rand.Rand, holders []int) (counted, error)
	state func(res *HistogramResult)
}

// counted is what one run gave.
type counted struct {
	values []estimate.Value
	table  *histogram.Table // of a plan's last collection; nil of a baseline
	rounds int              // collections that values are the mean of
}

// design calibrates the noise of n respondents over k cells.
func (h Histogram) design(n, k int) (histogramDesign, error) {
	switch h.Encoding {
	case Central:
		return h.curator()
	case DerivedCrowds:
		return h.derivedCrowds(n, k), nil
	}
	p, messages, err := h.plan(n, k)
	if err != nil {
		return histogramDesign{}, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return histogramDesign{}, err
	}
	exact, err := proto.Shuffled(h.repeats())
	if err != nil {
		return histogramDesign{}, err
	}
	m := simulate.Fragmented(p.Question.Histogram.Randomizer, h.width(k))
	central := exact
	if h.Accounting == account.PaperAccounting && h.Hashes == 0 && h.repeats() == 1 { // ESA has none for rows, nor for repeats
		bits := m.Fragment
		if m.Tau > 1 {
			bits = m.Backstop
		}
		if central, err = theorems.ESALemmaII6(n, 2*float64(n)*bits.Flip, h.Delta); err != nil {
			return histogramDesign{}, err
		}
	}
	return histogramDesign{
		draw: func(r *rand.Rand, holders []int) (counted, error) {
			return collectOften(proto, r, holders, h.repeats())
		},
		state: func(res *HistogramResult) {
			times := float64(res.Repeats)
			local, one := times*m.Exposed(m.Tau, h.Adjacency).Epsilon, m.Exposed(1, h.Adjacency).Epsilon
			res.Plan, res.Delta, res.Method = withoutKeys(p), h.Delta, central.Method
			res.EpsilonCentral, res.EpsilonCentralExact, res.EpsilonLocal, res.EpsilonAlone = &central.Epsilon, &exact.Epsilon, &local, &one
			res.MessagesPerDevice, res.EnvelopesPerDevice = times*m.Messages(1, m.Tau), res.Repeats*messages
			res.BytesPerDevice = res.EnvelopesPerDevice * envelope.X25519.Size(hops+1, p.Envelopes.PayloadBytes)
		},
	}, nil
}

// payloadBytes is what plans are designed with.
const payloadBytes = 8

// hops of the shuffler that envelopes are sealed for, beside the analyzer.
const hops = 2

func (h Histogram) repeats() int { return max(1, h.Repeats) }

// width is how many cells a report has.
func (h Histogram) width(cells int) int {
	switch h.Encoding {
	case CountMean:
		return h.Width
	case Count:
		return 2 * h.Width
	}
	return cells
}

// plan is that of one of the h.Repeats collections from n respondents over so many cells,
// and the messages that it takes, which may be more than a device sends.
func (h Histogram) plan(n, cells int) (p plan.Plan, messages int, err error) {
	p = h.draft(n, cells, 1)
	sketched := h.Accounting == account.PaperAccounting && h.Hashes > 0
	if h.repeats() > 1 || sketched && h.Epsilon > 0 {
		local, err := h.localOfEach(n, cells)
		if err != nil {
			return p, 0, err
		}
		p.Budget.Epsilon, p.Budget.LocalEpsilon = 0, local
	}
	return designed(p)
}

// localOfEach is the local epsilon of each of the reports: with exact accounting as if one
// plan asked for all of them, which together keep the central epsilon; by the paper its
// share of that of one one-hot report.
func (h Histogram) localOfEach(n, cells int) (float64, error) {
	times := float64(h.repeats())
	if h.Epsilon == 0 {
		return h.LocalEpsilon / times, nil
	}
	one, answers := h, h.repeats()
	if h.Accounting == account.PaperAccounting {
		one.Encoding, one.Hashes, one.Width, answers = OneHot, 0, 0, 1
	}
	p, _, err := designed(one.draft(n, cells, answers))
	if err != nil {
		return 0, err
	}
	m := simulate.Fragmented(p.Question.Histogram.Randomizer, one.width(cells))
	return m.Exposed(m.Tau, h.Adjacency).Epsilon * float64(answers) / times, nil
}

// draft asks n respondents so often for the one of so many cells that each holds.
func (h Histogram) draft(n, cells, answers int) plan.Plan {
	ask := plan.Histogram{Randomizer: plan.Randomizer{Name: OneHot, Accounting: string(h.Accounting), Fragments: h.Fragments}}
	for i := range answers {
		ask.Attributes = append(ask.Attributes, plan.Attribute{Name: fmt.Sprintf("report %d", i+1), Kind: "categories", Size: cells})
	}
	if answers > 1 {
		ask.Collect = plan.CollectSplit
	}
	switch h.Encoding {
	case Asymmetric:
		ask.Randomizer.Name = Asymmetric
	case CountMean, Count:
		ask.Sketch = &plan.Sketch{Name: h.Encoding, Hashes: h.Hashes, Width: h.Width, Seed: publicSeed(h.Seed)}
	}
	return plan.Plan{
		Version: plan.Version, Title: "How many respondents hold each cell?",
		Question:  plan.Question{Kind: "histogram", Unfit: plan.UnfitReference, Histogram: &ask},
		Budget:    plan.Budget{Epsilon: h.Epsilon, LocalEpsilon: h.LocalEpsilon, Delta: h.Delta, Adjacency: string(h.Adjacency)},
		Crowd:     plan.Crowd{Minimum: n},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     mixRoute(1, hops),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
}

// designed is the plan with its noise, and the messages that it takes. Noise that takes
// more than a device sends has a law, too.
func designed(p plan.Plan) (plan.Plan, int, error) {
	if _, err := simulate.NewKeys(&p); err != nil {
		return p, 0, err
	}
	p, err := protocol.Design(p)
	var many *question.TooManyMessages
	if errors.As(err, &many) {
		p.Envelopes.PerDevice = plan.MaxEnvelopes
		return p, many.PerDevice, nil
	}
	return p, p.Envelopes.PerDevice, err
}

// withoutKeys is what of a plan a seed determines.
func withoutKeys(p plan.Plan) *plan.Plan {
	p.Route, p.Analyzer = plan.Route{}, plan.Party{}
	return &p
}

// collectOften is the mean of the estimates of so many collections from the same holders.
func collectOften(proto *protocol.Protocol, r *rand.Rand, holders []int, rounds int) (counted, error) {
	c := counted{rounds: rounds}
	for range rounds {
		col, err := simulate.Holders(proto, holders, r.Uint64())
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
func (c counted) top(p *dataset.Population) []TopCell {
	cells := largest(len(c.values), topCells, func(i int) float64 { return c.values[i].Mean })
	var ends [][2]float64
	if c.table != nil && c.rounds == 1 {
		ends = c.table.IntervalsAtOnce(cells, intervalLevel)
	}
	var out []TopCell
	for i, cell := range cells {
		t := TopCell{Value: p.CellName(cell), Estimate: c.values[cell].Mean, Truth: float64(p.Holders[cell])}
		if ends != nil {
			t.Low, t.High = ends[i][0], ends[i][1]
		} else {
			t.Low, t.High = c.values[cell].Interval(estimate.Joint(intervalLevel, len(c.values)))
		}
		out = append(out, t)
	}
	return out
}
