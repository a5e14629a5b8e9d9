package histogram

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/sum"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// noised is the table of an attribute's cells as they are: nobody but both aggregators
// together sees them, and these add noise to the sums.
type noised struct {
	*bits // kept always, and never flipped
	law   sum.Law
}

// Aggregated says that the aggregators of a plan's sums add the noise.
func Aggregated(p plan.Plan) bool {
	return p.Route.Sum != nil && p.Route.Sum.Noise != plan.NoiseDevices
}

func newNoised(p plan.Plan, ask plan.Histogram, a attribute) (randomizer, error) {
	ask.Randomizer = plan.Randomizer{Name: "one-hot", Keep: 1}
	b, err := newBits(ask, a, account.Replacement, 1)
	if err != nil {
		return nil, err
	}
	t := noised{bits: b}
	if p.Route.Sum.Law == "" {
		return t, nil // a design has yet to find it
	}
	t.law, err = lawOf(p)
	return t, err
}

// lawOf is that of the noise of a plan, which may have no circuit yet.
func lawOf(p plan.Plan) (sum.Law, error) {
	s := *p.Route.Sum
	s.Circuit, s.Chunk = plan.Circuit{Kind: plan.CircuitHistogram, Length: 1}, 1
	p.Route.Sum = &s
	r, err := sum.New(p)
	if err != nil {
		return sum.Law{}, err
	}
	return r.Total(), nil
}

// read: of those who were asked with probability share, T holders of a cell count in place
// of T/share.
func (t noised) read(counts []uint64, respondents int, share float64) []estimate.Value {
	values := make([]estimate.Value, len(counts))
	for i, c := range counts {
		held := float64(int64(c)) / share
		values[i] = estimate.Value{Mean: held, StdErr: t.spread(max(0, min(held, float64(respondents))), share)}
	}
	return values
}

func (t noised) spread(holders, share float64) float64 {
	return math.Sqrt(t.law.Variance/(share*share) + holders*(1-share)/share)
}

func (t noised) deviation(holders, _ int, share float64) float64 {
	return t.spread(float64(holders), share)
}

// errors: the law of the noise is known at any depth, and that of a cell's estimate where
// everybody is asked.
func (t noised) errors(_ []uint64, respondents int, share float64) errorLaw {
	e := errorLaw{
		mean: &estimate.Cell{N: respondents, Keep: share}, fragments: 1, independent: true,
		null: func(mean float64) float64 { return t.law.LogAtLeast(int(math.Round(mean * share))) },
	}
	if share == 1 {
		e.exact = true
		e.ends = func(mean, alpha float64) [2]float64 {
			w, n := float64(t.law.Within(alpha)), float64(respondents)
			return [2]float64{max(0, min(mean-w, n)), min(n, max(mean+w, 0))}
		}
	}
	return e
}

// event and again are of no table by itself: see Question.noise.
func (t noised) event(int, float64) account.Event { return nil }
func (t noised) again(int) account.Event          { return nil }

func (t noised) local() account.Guarantee {
	return account.Guarantee{
		Epsilon: math.Inf(1), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: 1, Bound: account.Exact,
		Method: "the answer itself", Source: "devices add no noise",
	}
}

var errSplit = errors.New("histogram: devices add no noise to what aggregators sum: the answer is split (Measure), and not randomized")

// aggregated says who adds the noise.
func (h *Question) aggregated() bool { return Aggregated(h.plan) }

// weight is how many cells a respondent counts for at most, in all that it answers.
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
// counts for nothing, or at most so many.
func (h *Question) noisedCircuit() plan.Circuit {
	if w := weight(h.ask); w > 1 {
		return plan.Circuit{Kind: plan.CircuitMultihot, Length: h.channels, Weight: min(w, h.channels)}
	}
	c := plan.Circuit{Kind: plan.CircuitHistogram, Length: h.channels}
	if !h.exact() {
		c.Length++
	}
	return c
}

// measure is the vector of the cells that a device holds.
func (h *Question) measure(r *rand.Rand, s question.Symbol) (crowd int, vector []uint64, err error) {
	report, err := h.report(r, s.(cellsHeld), nil)
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
	if len(report.Parts[0]) == 0 && c.Kind == plan.CircuitHistogram {
		vector[c.Length-1] = 1
	}
	return report.Crowd, vector, nil
}

// noisedSums leaves out the number of those who count for nothing.
func (h *Question) noisedSums(sums []int64) (tally.Tally, error) {
	if len(sums) != h.noisedCircuit().Length {
		return nil, fmt.Errorf("histogram: sums of %d numbers: the plan's vectors have %d", len(sums), h.noisedCircuit().Length)
	}
	t := tally.NewSums(h.channels)
	copy(t.N, sums)
	return t, nil
}

// noise is the event of a respondent exchanged for another, where so many aggregators' noise
// is not known: numbers go up and down by one where either counts, each with noise of its
// own, whose law is symmetric.
func (h *Question) noise(honest int) account.Event {
	changed := min(2*weight(h.ask), h.noisedCircuit().Length)
	e := hiding(*h.plan.Route.Sum, honest)
	if changed == 1 {
		return e
	}
	return account.Repeat{Event: e, Rounds: changed}
}

// hiding is the event of one number.
func hiding(s plan.Sum, honest int) account.Event {
	if s.Law == plan.LawGaussian {
		if honest == 1 {
			return additive.DiscreteGaussian{Sigma: s.Sigma, Sensitivity: 1}
		}
		return additive.DistributedGaussian{Users: honest, Sigma: s.Sigma, Sensitivity: 1}
	}
	shares := float64(honest)
	if s.Noise == plan.NoiseShared {
		shares /= 2
	}
	if shares == 1 {
		return additive.DiscreteLaplace{Noise: s.Decay, Sensitivity: 1}
	}
	return additive.LaplaceShares{Noise: s.Decay, Shares: shares}
}

// promised is how many aggregators' noise the promise counts on.
func promised(s plan.Sum) int {
	if s.Noise == plan.NoiseShared {
		return 2
	}
	return 1
}

// Who sees what, where aggregators add the noise.
const (
	whoBoth   = "Both aggregators together, without the analyzer's help: they add the two shares of your answer, and have it as it is. Devices add no noise."
	whoOne    = "One aggregator and the analyzer together, and all other respondents: the aggregator takes its own noise off, and what the other has added is left." + question.LeaderKnows
	whoReader = "The analyzer, and whoever reads this release, as long as both aggregators keep their keys and their noise to themselves."
)

// noisedObservers states what the noise of one aggregator, and of both, leaves to be learned.
func (h *Question) noisedObservers(shuffled account.Guarantee) ([]account.Statement, error) {
	count := promised(*h.plan.Route.Sum)
	other, err := account.Epsilon(h.noise(3-count), h.plan.Budget.Delta)
	if err != nil { // so little noise that nothing is proved of it
		other = shuffled
		other.Epsilon = math.Inf(1)
	}
	other.Trust, other.Users = additive.Aggregated, 1
	one, reader := shuffled, other
	if count == 2 {
		one, reader = other, shuffled
	}
	return []account.Statement{
		{Observer: account.BothAggregators, Who: whoBoth, Guarantee: h.randomizers[0].local(), Note: h.note()},
		{Observer: account.OneAggregator, Who: whoOne, Guarantee: one, Note: h.note()},
		{Observer: account.OnlyTheReader, Who: whoReader, Guarantee: reader, Note: h.note()},
	}, nil
}
