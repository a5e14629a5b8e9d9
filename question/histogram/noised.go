package histogram

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// noised is the table of an attribute's cells as they are: nobody but both aggregators
// together sees them, or the holder of a table, and these, or all devices, add noise to the sums.
type noised struct {
	*bits // kept always, and never flipped
	law   func(respondents int) sum.Law
	// hidden says that how many rows there are is private, so that no estimate ends there.
	hidden bool
	// weighted bounds sums of a holder's noise; nil of others'.
	weighted func(alpha float64, cells [2]int, weights [2]float64) float64

	correlated *correlated // nil: a round by itself
	route      *plan.Sum   // of correlated rounds
}

// Noised says that a plan sums the cells as they are, with noise.
func Noised(p plan.Plan) bool {
	return p.Route.Noise() != nil && (!shares(p) || p.Question.Histogram.Randomizer.Name == plan.RandomizerNone)
}

// shares says that the devices of a plan's sums add the noise, by flips or in shares.
func shares(p plan.Plan) bool { return p.Route.Noise().Noise == plan.NoiseDevices }

// scattered returns the noise of a plan's devices, where these add it to cells as they are.
func scattered(p plan.Plan) sumprivacy.Devices {
	return sumprivacy.DevicesOf(p, 2*weight(*p.Question.Histogram))
}

// Scattered returns the noise of each device, and by how much every number is raised, so that none
// is below zero: ok is false where devices add none to cells as they are.
func (h *Question) Scattered() (m sumprivacy.DistributedLaplace, raised int, ok bool) {
	if !h.noised() || !shares(h.plan) {
		return m, 0, false
	}
	d := h.scattered
	return d.Noise, d.Reach(), true
}

func newNoised(p plan.Plan, ask plan.Histogram, a attribute) (randomizer, error) {
	ask.Randomizer = plan.Randomizer{Keep: 1} // bits, kept always
	cells := a
	if a.kind == "open" { // of which there may be none
		cells.cells = listed{""}
	}
	b, err := newBits(ask, cells, account.Replacement, 1)
	if err != nil {
		return nil, err
	}
	t := noised{bits: b}
	route := *p.Route.Noise()
	switch {
	case route.Law == "": // a design has yet to find it
	case shares(p):
		t.law = func(respondents int) sum.Law { return scattered(p).Law(respondents) }
	default:
		law := sync.OnceValue(func() sum.Law { return sum.Total(route) }) // correlated rounds never ask
		t.law = func(int) sum.Law { return law() }
		if p.Route.Table != nil {
			t.weighted = chernoff(route)
		}
	}
	t.hidden = p.RowsHidden()
	switch a.kind {
	case "mean":
		return newHalves(t, route), nil
	case "open":
		return opened{t, a.cells.Size()}, nil
	}
	return t, nil
}

// read estimates each cell. Of those who were asked with probability share, T holders of a cell count in place
// of T/share.
func (t noised) read(counts []uint64, respondents int, share float64) []estimate.Value {
	if t.sketch != nil {
		return t.sketch.Estimate(counts, respondents, t.answer(respondents), t.candidates())
	}
	values := make([]estimate.Value, len(counts))
	if t.correlated != nil {
		sd := t.correlated.deviations(*t.route, len(counts))
		for i, total := range t.correlated.totals(counts) {
			values[i] = estimate.Value{Mean: total, StdErr: sd[i]}
		}
		return values
	}
	law := t.law(respondents)
	for i, c := range counts {
		held := float64(int64(c)) / share
		values[i] = estimate.Value{Mean: held, StdErr: spread(law, max(0, min(held, float64(respondents))), share)}
	}
	return values
}

func spread(law sum.Law, holders, share float64) float64 {
	return math.Sqrt(law.Variance/(share*share) + holders*(1-share)/share)
}

// answer returns that of a cell of a sketch's row.
func (t noised) answer(respondents int) sketch.Answer {
	return sketch.Summed(t.law(respondents).Variance, respondents, t.sketch.Rows(), t.sketch.Cells())
}

func (t noised) deviation(holders, respondents int, share float64) float64 {
	if t.correlated != nil {
		return t.correlated.deviations(*t.route, 1)[0]
	}
	if t.sketch != nil {
		return math.Sqrt(t.sketch.Variance(holders, respondents, 0, t.answer(respondents)))
	}
	return spread(t.law(respondents), float64(holders), share)
}

// errors returns the laws that are known: that of the noise at any depth, and that of a cell's estimate where
// everybody is asked; of a sketch, as of flipped bits, nothing is proved.
func (t noised) errors(_ []uint64, respondents int, share float64) errorLaw {
	if t.sketch != nil {
		return errorLaw{}
	}
	if t.correlated != nil {
		return t.running()
	}
	law := t.law(respondents)
	e := errorLaw{
		mean: &estimate.Cell{N: respondents, Keep: share}, fragments: 1,
		weighted:    t.weighted,
		independent: true, sampled: share < 1, // respondents who hold one cell each have nothing in common
		null: func(mean float64) float64 { return law.LogAtLeast(int(math.Round(mean * share))) },
	}
	if share == 1 {
		e.exact = true
		e.ends = func(mean, alpha float64) [2]float64 {
			w, n := float64(law.Within(alpha)), float64(respondents)
			if t.hidden {
				n = math.Inf(1)
			}
			return [2]float64{max(0, min(mean-w, n)), min(n, max(mean+w, 0))}
		}
	}
	return e
}

// event and again are of no table by itself: see Question.noise.
func (t noised) event(int, float64) account.Event { return nil }
func (t noised) again(int) account.Event          { return nil }

func (t noised) local() account.Guarantee { return terms.Bare() }

var errSplit = errors.New("histogram: what is summed with noise is split (Measure), and not randomized")

func (h *Question) noised() bool { return Noised(h.plan) }

// weight returns how many cells a respondent counts for at most, in all that it answers.
func weight(ask plan.Histogram) int {
	n := 0
	for _, a := range ask.Attributes {
		if ask.Collect == plan.CollectSample {
			n = max(n, a.Items())
		} else {
			n += a.Items()
		}
	}
	return n
}

// exact says that every respondent counts for exactly one cell, so that none is needed for
// those who count for nothing.
func (h *Question) exact() bool {
	for _, a := range h.attributes {
		if !a.all {
			return false
		}
	}
	return true
}

// noisedCircuit proves that a vector has a single one, of which the last number is for whoever
// counts for nothing, or at most so many; of cells with noise, that each is in range.
func (h *Question) noisedCircuit() plan.Circuit {
	if shares(h.plan) {
		return plan.Circuit{Kind: plan.CircuitSumVec, Length: h.channels, Max: 2*h.scattered.Reach() + 1}
	}
	if w := weight(h.ask); w > 1 || ofStudy(h.plan) != nil || h.channels == 1 { // who says nothing is not counted in a cell
		return plan.Circuit{Kind: plan.CircuitMultihot, Length: h.channels, Weight: min(w, h.channels)}
	}
	c := plan.Circuit{Kind: plan.CircuitHistogram, Length: h.channels}
	if !h.exact() {
		c.Length++
	}
	return c
}

// measure returns the vector of the cells that a device holds.
func (h *Question) measure(r *rand.Rand, s question.Symbol) (crowd int, vector []uint64, err error) {
	report, err := h.report(r, h.inCells(s.(cellsHeld)), nil)
	if err != nil {
		return 0, nil, err
	}
	c := h.noisedCircuit()
	vector = make([]uint64, c.Length)
	for _, body := range report.Parts[0] {
		channel, _, err := tally.ParseMessage(body)
		if err != nil {
			return 0, nil, err
		}
		vector[channel] = 1
	}
	if shares(h.plan) {
		h.scattered.Add(r, vector)
	} else if len(report.Parts[0]) == 0 && c.Kind == plan.CircuitHistogram && !h.exact() {
		vector[c.Length-1] = 1
	}
	h.between(s.(cellsHeld), vector)
	return report.Crowd, vector, nil
}

// noisedSums leaves out the number of those who count for nothing, and what devices' noise is
// raised by.
func (h *Question) noisedSums(sums []int64, respondents int) (tally.Tally, error) {
	if len(sums) != h.noisedCircuit().Length {
		return nil, fmt.Errorf("histogram: sums of %d numbers: the plan's vectors have %d", len(sums), h.noisedCircuit().Length)
	}
	t := tally.NewSums(h.channels)
	copy(t.N, sums)
	if shares(h.plan) {
		raised := int64(respondents) * int64(h.scattered.Reach())
		for i := range t.N {
			t.N[i] -= raised
		}
	}
	h.other(t.N, respondents)
	return t, nil
}

// noise returns the event of a respondent exchanged for another, where the event of one number is
// such: numbers go up and down by one where either counts, each with noise of its own, whose
// law is symmetric.
func (h *Question) noise(one account.Event) account.Event {
	changed := h.changed()
	if changed == 1 || h.correlated != nil { // that one is of all numbers
		return one
	}
	return account.Repeat{Event: one, Rounds: changed}
}

// changed returns how many numbers differ at most where a respondent is exchanged for another.
func (h *Question) changed() int {
	if besideCells(h.ask) || h.plan.RowsHidden() {
		return h.moved()
	}
	length := h.channels
	if !shares(h.plan) {
		length = h.noisedCircuit().Length
	}
	return min(2*weight(h.ask), length)
}

// loss returns the event where so many honest respondents add their noise, or where aggregators
// do, as many of these as the promise counts on.
func (h *Question) loss(honest int) account.Event {
	if shares(h.plan) {
		d := h.scattered
		return h.noise(d.Event(terms.Relied(honest, d.Noise.Users)))
	}
	s := *h.plan.Route.Noise()
	if h.plan.Route.Table != nil {
		return h.noise(sumprivacy.Holder(s, account.Adjacency(h.plan.Budget.Adjacency)))
	}
	return h.noise(sumprivacy.Aggregators(s, sumprivacy.Promised(s)))
}

// noisedObservers states what the noise of one aggregator, and of both, leaves to be learned,
// or that of all devices.
func (h *Question) noisedObservers(shuffled account.Guarantee) ([]account.Statement, error) {
	if shares(h.plan) { // the observers of a mix, whom the protocol names
		return []account.Statement{
			{Observer: account.EveryoneColludes, Guarantee: h.randomizers[0].local(), Note: h.note(), Who: terms.Everyone},
			{Observer: account.ShufflerHonest, Guarantee: shuffled, Note: h.note(), Who: terms.ShufflerHonest(h.plan)},
		}, nil
	}
	if h.plan.Route.Table != nil {
		return terms.HeldTable(h.plan, shuffled), nil
	}
	all := terms.NoisedSums(h.plan, shuffled, h.note(), func(unknown int) account.Event {
		return h.noise(sumprivacy.Aggregators(*h.plan.Route.Sum, unknown))
	})
	if h.correlated != nil {
		for i := range all {
			if !math.IsInf(all[i].Guarantee.Epsilon, 1) {
				all[i].Note = h.correlated.note(h.plan, all[i])
			}
		}
	}
	return all, nil
}

// designNoised finds the least noise that keeps the budget.
func designNoised(p *plan.Plan, ask *plan.Histogram) error {
	if !(p.Budget.Epsilon > 0) {
		return errors.New("histogram: budget.epsilon is missing: there is noise that keeps it")
	}
	ask.Randomizer = plan.Randomizer{Name: plan.RandomizerNone, Accounting: string(calibrate.Exact)}
	if len(ask.Attributes) > 1 && ask.Collect == "" {
		// Of A attributes, each of A times as many numbers needs A times the noise; a sampled
		// estimate is scaled up by A, and has the error of a sample beside it.
		ask.Collect = plan.CollectSplit
	}
	if c := ofStudy(*p); c != nil && c.Bits == 0 {
		with := *p.Route.Sum // the caller's stays as it is
		enough := *c
		enough.Bits = enoughBits
		with.Correlated = &enough
		*p = withNoise(*p, with)
		if c.Windows {
			return designWindows(p, ask)
		}
	}
	h, err := New(unnoised(*p))
	if err != nil {
		return err
	}
	if h.correlated != nil {
		s, err := h.correlated.rows.Calibrate(*p)
		*p = withNoise(*p, s)
		return err
	}
	s, err := calibrated(*p, *ask, h.changed())
	*p = withNoise(*p, s)
	if err == nil {
		ask.Attributes = thresholds(*p, *ask)
	}
	return err
}

// designWindows finds the most bits of coefficients whose noise can be drawn.
func designWindows(p *plan.Plan, ask *plan.Histogram) (err error) {
	of := *ofStudy(*p)
	for ; of.Bits > 0; of.Bits-- {
		with, next := *p.Route.Sum, of
		with.Correlated = &next
		*p = withNoise(*p, with)
		if err = designNoised(p, ask); err == nil && (noise.DiscreteGaussian{Sigma: p.Route.Sum.Sigma}).Validate() == nil {
			return nil
		}
	}
	return err
}

// unnoised returns a plan before its noise is known.
func unnoised(p plan.Plan) plan.Plan {
	s := *p.Route.Noise()
	s.Law, s.Decay, s.Sigma = "", 0, 0
	return withNoise(p, s)
}

// withNoise returns a plan with the noise of another route.
func withNoise(p plan.Plan, s plan.Sum) plan.Plan {
	if t := p.Route.Table; t != nil {
		with := *t // the caller's stays as it is
		with.Law, with.Decay, with.Sigma = s.Law, s.Decay, s.Sigma
		p.Route.Table = &with
		return p
	}
	p.Route.Sum = &s
	return p
}
