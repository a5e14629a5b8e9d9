package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/shuffle"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/plan"
)

// A plan may promise an epsilon that holds though everyone colludes (budget.local_epsilon),
// beside the one of its budget or, while it is designed, alone. Its noise keeps both, and
// what a plan that was given only the one promises of the other is what the noise gives.

// keepsLocal checks that promise against the statement.
func keepsLocal(b plan.Budget, statements []account.Statement) error {
	if b.LocalEpsilon == 0 {
		return nil
	}
	for _, s := range statements {
		if g := s.Guarantee; g.Trust == account.Local && !(g.Epsilon*(1-claimSlack) <= b.LocalEpsilon) {
			return fmt.Errorf("plan: promise does not hold: though everyone colludes the noise gives epsilon %.6g (%s), and budget.local_epsilon promises %.6g: add noise, or promise less", g.Epsilon, g.Adjacency, b.LocalEpsilon)
		}
	}
	return nil
}

// implied is the epsilon that an event gives at delta, rounded up to a number that is
// easily written.
func implied(e account.Event, delta float64) (float64, error) {
	g, err := account.Epsilon(e, delta)
	if err != nil {
		return 0, err
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Max(g.Epsilon, 1e-6)))) - 3)
	return math.Ceil(g.Epsilon*(1+1e-6)/unit) * unit, nil
}

// WithinLocal is the bitsum with at least the noise with which all bits of f of one device
// tell no more than a local epsilon. It is an error for all but randomized response.
func WithinLocal(b plan.Bitsum, f *encode.Features, epsilon float64) (plan.Bitsum, error) {
	if b.Name != "rr" {
		return b, fmt.Errorf("protocol: budget.local_epsilon: %s has none: its noise is divided among the devices, and what one of them sends shows its bits; ask for rr", b.Name)
	}
	flip, err := kde.LocalFlip(f, epsilon)
	b.FlipProbability = math.Max(b.FlipProbability, flip)
	return b, err
}

// withinLocal is that of a plan, whose label takes its share.
func withinLocal(p plan.Plan, b plan.Bitsum, f *encode.Features) (plan.Bitsum, error) {
	left := p.Budget.LocalEpsilon
	if l := p.Budget.LabelEpsilon; l != plan.Unprotected && len(p.Question.Density.Classes) > 1 {
		if left -= float64(l); !(left > 0) {
			return b, fmt.Errorf("protocol: budget.local_epsilon: the class alone is sent with epsilon %g, and %g is to hold for all of it: lower budget.label_epsilon, or ask for more", float64(l), p.Budget.LocalEpsilon)
		}
	}
	return WithinLocal(b, f, left)
}

// leastFlip is what accountants take.
const leastFlip = 1e-12

// impliedByDensity is the shuffled epsilon of a density's noise.
func impliedByDensity(p plan.Plan, b plan.Bitsum, f *encode.Features) (float64, error) {
	_, channel, err := NewBitsum(b, p.HonestMinimum())
	if err != nil {
		return 0, err
	}
	return implied(kde.Loss(f, thinnable(p, channel)), p.Budget.Delta)
}

// impliedByHistogram is that of a histogram's, with the share of delta that it leaves.
func impliedByHistogram(p plan.Plan) (float64, error) {
	h, err := newHistogram(p)
	if err != nil {
		return 0, err
	}
	return implied(h.loss(), (1-overflowShare)*p.Budget.Delta-h.slack())
}

// everyone is what all of a device's one-hot bits tell, of so many items over so many
// cells, as a function of a bit's probabilities; with fragments of those of its backstop.
type everyoneLearns struct {
	items, cells, fragments int
	adjacency               account.Adjacency
}

func learnedBy(ask plan.Histogram, items int, adjacency account.Adjacency) everyoneLearns {
	cells := 0
	for _, a := range ask.Attributes {
		size := a.Domain()
		if ask.Sketch != nil {
			size = ask.Sketch.Width
		}
		if ask.Collect == plan.CollectSample {
			cells = max(cells, size)
		} else {
			cells += size
		}
	}
	return everyoneLearns{items, cells, ask.Randomizer.Fragments, adjacency}
}

// bits is the epsilon of bits without fragments.
func (e everyoneLearns) bits(keep, flip float64) float64 {
	return randomize.OneHot{K: e.cells, Keep: keep, Flip: flip}.LocalSet(e.items, e.adjacency).Epsilon
}

// backstop is that of all fragments behind backstops of an epsilon a bit.
func (e everyoneLearns) backstop(epsilon float64) float64 {
	backstopKeep, backstopFlip := symmetric(flipOf(epsilon))
	keep, flip := symmetric(flipOf(shuffle.FragmentEpsilon(epsilon, e.fragments)))
	m := randomize.Fragmented{
		Backstop: randomize.OneHot{K: e.cells, Keep: backstopKeep, Flip: backstopFlip},
		Fragment: randomize.OneHot{K: e.cells, Keep: keep, Flip: flip}, Tau: e.fragments,
	}
	return float64(e.items) * m.Exposed(m.Tau, e.adjacency).Epsilon
}

// within is the end of [safe, wanted] nearest to wanted where a function that grows
// towards wanted is at most a limit; safe keeps it.
func within(limit, safe, wanted float64, of func(x float64) float64) float64 {
	if of(wanted) <= limit {
		return wanted
	}
	for range 200 {
		middle := safe + (wanted-safe)/2
		if middle == safe || middle == wanted {
			break
		}
		if of(middle) <= limit {
			safe = middle
		} else {
			wanted = middle
		}
	}
	return safe
}
