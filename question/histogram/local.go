package histogram

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// leastFlip is what accountants take.
const leastFlip = 1e-12

// implied returns the shuffled epsilon of the noise, with the share of delta that it leaves.
func implied(p plan.Plan) (float64, error) {
	h, err := New(p)
	if err != nil {
		return 0, err
	}
	return terms.Implied(h.Event(p.MinHonest(), false), (1-terms.OverflowShare)*p.Budget.Delta-h.slack())
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

// bits returns the epsilon of bits without fragments.
func (e everyoneLearns) bits(keep, flip float64) float64 {
	return randomize.OneHot{K: e.cells, Keep: keep, Flip: flip}.LocalSet(e.items, e.adjacency).Epsilon
}

// backstop returns that of all fragments behind backstops of an epsilon a bit.
func (e everyoneLearns) backstop(epsilon float64) float64 {
	backstopKeep, backstopFlip := symmetric(flipOf(epsilon))
	keep, flip := symmetric(flipOf(shuffle.FragmentEpsilon(epsilon, e.fragments)))
	m := randomize.Fragmented{
		Backstop: randomize.OneHot{K: e.cells, Keep: backstopKeep, Flip: backstopFlip},
		Fragment: randomize.OneHot{K: e.cells, Keep: keep, Flip: flip}, Tau: e.fragments,
	}
	return float64(e.items) * m.Exposed(m.Tau, e.adjacency).Epsilon
}

// within returns the end of [safe, wanted] nearest to wanted where a function that grows
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
