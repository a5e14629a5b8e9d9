package histogram

import (
	"fmt"
	"math"
	"strings"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/amplify"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in how the histogram is answered, where that is left open, the least noise
// that keeps the budget, the local epsilons that it amounts to, and the number and length
// of envelopes.
func Design(p plan.Plan) (plan.Plan, error) {
	p, _, err := Choose(p)
	return p, err
}

// designed returns a plan that leaves nothing open, with its noise.
func designed(p plan.Plan) (plan.Plan, error) {
	if p.Envelopes.PayloadBytes == 0 && p.Route.Table == nil {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	h := *p.Question.Histogram // the caller's stays as it is
	p.Question.Histogram = &h
	err := design(&p, &h)
	return p, err
}

func design(p *plan.Plan, ask *plan.Histogram) error {
	if err := attributes(*ask); err != nil {
		return err
	}
	var err error
	if z := &ask.Randomizer; Noised(*p) {
		err = designNoised(p, ask)
	} else if z.OneHot() {
		err = designOneHot(p, ask, z)
	} else {
		err = designSymbols(p, ask, z)
	}
	if err != nil {
		return err
	}
	if p.Budget.Epsilon == 0 {
		if p.Budget.Epsilon, err = implied(*p); err != nil {
			return err
		}
	}
	if Noised(*p) {
		return nil
	}
	var ps plan.Problems
	if consistent(*p, &ps); len(ps) > 0 {
		return fmt.Errorf("histogram: %s", strings.Join(ps, "; "))
	}
	h, err := New(*p)
	if err != nil {
		return err
	}
	e := &p.Envelopes
	if !ask.Randomizer.OneHot() {
		e.PerDevice = h.randomizers[0].(*symbols).messages * h.answers()
		return nil
	}
	e.PerDevice = max(1, h.together().smallestCap(terms.RareOverflow(*p, p.MinHonest()*p.Contributions())))
	if e.PerDevice > plan.MaxEnvelopes {
		return &question.TooManyMessages{PerDevice: e.PerDevice}
	}
	return nil
}

// attributes checks what is asked before noise is looked for.
func attributes(ask plan.Histogram) error {
	if len(ask.Attributes) == 0 {
		return fmt.Errorf("histogram: question.histogram.attributes: name at least one")
	}
	for _, a := range ask.Attributes {
		if a.Kind == "grid" && (a.X == nil || a.Y == nil) {
			return fmt.Errorf("histogram: attribute %q: a grid needs the axes x and y", a.Name)
		}
		if _, err := newAttribute(a); err != nil {
			return err
		}
	}
	return nil
}

// target returns what the noise of one answer must reach: among those of its part, for
// all items that a respondent may hold, with what delta leaves.
func target(p plan.Plan, ask plan.Histogram) calibrate.Target {
	items := 0
	for _, a := range ask.Attributes {
		if ask.Collect == plan.CollectSample {
			items = max(items, a.Items())
		} else {
			items += a.Items()
		}
	}
	t := calibrate.Target{Users: p.MinHonest(), Rounds: items, Epsilon: p.Budget.Epsilon, Delta: (1 - terms.OverflowShare) * p.Budget.Delta}
	if n := parts(ask); n > 1 {
		slack := slackShare * p.Budget.Delta
		t.Users, t.Delta = hidden(t.Users, n, slack/float64(answers(ask))), t.Delta-slack
	}
	return t
}

func designOneHot(p *plan.Plan, ask *plan.Histogram, z *plan.Randomizer) error {
	if z.Fragments > 1 && !z.Alike() {
		return fmt.Errorf("histogram: report fragments are designed for one-hot, not for %s", z.Name)
	}
	adjacency := account.Adjacency(p.Budget.Adjacency)
	t := target(*p, *ask)
	asymmetric := ways[z.Name].asymmetric
	keep, flip := bitOf(leastFlip, asymmetric)
	if t.Epsilon > 0 || p.Budget.LocalEpsilon == 0 {
		var err error
		if keep, flip, err = calibrateBit(t, asymmetric, adjacency, z.Accounting); err != nil {
			return err
		}
	}
	everyone := learnedBy(*ask, t.Rounds, adjacency)
	items := 1
	for _, a := range ask.Attributes {
		items = max(items, a.Items())
	}
	cells := 2 * items // an epsilon depends on the cells only where they are fewer
	worth := func(keep, flip float64) float64 {
		return randomize.OneHot{K: cells, Keep: keep, Flip: flip}.LocalSet(items, adjacency).Epsilon
	}
	if z.Fragments <= 1 {
		if l := p.Budget.LocalEpsilon; l > 0 {
			least := within(l, math.Log(0.5)-0x1p-30, math.Log(flip), func(x float64) float64 { return everyone.bits(bitOf(math.Exp(x), asymmetric)) })
			keep, flip = bitOf(math.Exp(least), asymmetric)
		}
		z.Keep, z.Flip, z.Epsilon = keep, flip, worth(keep, flip)
		return nil
	}
	// shuffle.FragmentEpsilon says what fragments a backstop is torn into. The target is met by the
	// backstops or by the rows of fragments seen through them, whichever needs less noise.
	// (The paper's tables go by the backstops.)
	backstop := math.Log1p(-flip) - math.Log(flip) // epsilon of a bit
	if z.Accounting == string(calibrate.Exact) && t.Epsilon > 0 {
		if f, _, err := shuffle.CalibrateFragments(t, z.Fragments, adjacency); err == nil {
			backstop = math.Max(backstop, f.Backstop)
		}
	}
	if l := p.Budget.LocalEpsilon; l > 0 {
		backstop = within(l, leastEpsilon, backstop, everyone.backstop)
	}
	fragment := shuffle.FragmentEpsilon(backstop, z.Fragments)
	if !(fragment >= leastEpsilon) {
		return fmt.Errorf("histogram: a backstop of epsilon %.3g a bit cannot be torn into %d fragments, each of which would tell next to nothing: ask for fewer", backstop, z.Fragments)
	}
	z.BackstopKeep, z.BackstopFlip = symmetric(flipOf(backstop))
	z.Keep, z.Flip = symmetric(flipOf(fragment))
	z.Backstop, z.Epsilon = worth(z.BackstopKeep, z.BackstopFlip), worth(z.Keep, z.Flip)
	return nil
}

// leastEpsilon of a bit is far above what a flip probability near 1/2 rounds to.
const leastEpsilon = 1e-9

// flipOf returns 1/(1 + e^epsilon), rounded up by more than the roundings in computing it.
func flipOf(epsilon float64) float64 { return 1 / (1 + math.Exp(epsilon)) * (1 + 0x1p-50) }

// bitOf returns a one-hot bit of which another is sent with probability flip.
func bitOf(flip float64, asymmetric bool) (keep, same float64) {
	if asymmetric {
		return 0.5, flip
	}
	return symmetric(flip)
}

// symmetric returns the pair of a flip probability, with Keep rounded down so that what
// is not sent is flipped at least as often.
func symmetric(flip float64) (keep, same float64) {
	keep = 1 - flip
	if 1-keep < flip {
		keep = math.Nextafter(keep, 0)
	}
	return keep, flip
}

// calibrateBit returns the bit of least noise that meets the target.
func calibrateBit(t calibrate.Target, asymmetric bool, adjacency account.Adjacency, accounting string) (keep, flip float64, err error) {
	switch {
	case accounting == string(calibrate.Paper):
		// Lemma II.6 for a bit that changes, which it is stated for, and basic
		// composition over the bits of an answer.
		changed := float64(t.Rounds)
		if adjacency == account.Replacement {
			changed *= 2
		}
		lambda, err := theorems.CheuCorollary47Lambda(t.Users, t.Epsilon/changed, t.Delta/changed)
		if err != nil {
			return 0, 0, err
		}
		keep, flip = symmetric(lambda / (2 * float64(t.Users)))
		return keep, flip, nil
	case asymmetric:
		// Half of the devices that hold a cell say so, at random. For that the count of
		// a cell that few hold errs less at the same central epsilon, and under
		// replacement at the same local one.
		e, _, err := shuffle.CalibrateAsymmetricOneHot(t, 0.5, adjacency)
		return 0.5, e.Flip, err
	default:
		e, _, err := shuffle.CalibrateOneHot(t, adjacency)
		keep, flip = symmetric(e.Flip)
		return keep, flip, err
	}
}

// designSymbols takes the largest local epsilon whose shuffled reports keep the
// budget, and the other numbers of least variance at it. More than the budget is
// not needed of a device alone.
func designSymbols(p *plan.Plan, ask *plan.Histogram, z *plan.Randomizer) error {
	if z.Accounting == string(calibrate.Paper) {
		return fmt.Errorf("histogram: the paper has no accounting for %s: use %q", z.Name, calibrate.Exact)
	}
	t := target(*p, *ask)
	attributes := make([]attribute, len(ask.Attributes))
	cells := 2
	for i, a := range ask.Attributes {
		var err error
		if attributes[i], err = newAttribute(a); err != nil {
			return err
		}
		cells = max(cells, a.Domain())
	}
	at := func(epsilon float64) plan.Randomizer {
		z := *z
		z.Epsilon = epsilon
		if fit := ways[z.Name].fit; fit != nil {
			fit(&z, *ask, p.Crowd.Minimum, cells)
		}
		return z
	}
	var wrong error
	event := func(epsilon float64) account.Event {
		h := Question{plan: *p, ask: *ask}
		h.ask.Randomizer = at(epsilon)
		for _, a := range attributes {
			t, err := newSymbols(h.ask.Randomizer, a, account.Adjacency(p.Budget.Adjacency))
			if err != nil {
				wrong = err
				return nil
			}
			h.randomizers = append(h.randomizers, t)
		}
		if wrong = h.settle(); wrong != nil {
			return nil
		}
		return h.Event(h.plan.MinHonest(), false)
	}
	most := math.Inf(1)
	if l := p.Budget.LocalEpsilon; l > 0 {
		most = math.Min(30, l/float64(t.Rounds)*(1-1e-12)) // the accountant's last
	}
	if t.Epsilon > 0 || math.IsInf(most, 1) {
		// One round is all that a respondent answers.
		t.Rounds = 1
		local, _, err := amplify.CalibrateLocal(t, event)
		if wrong != nil && err != nil {
			return fmt.Errorf("histogram: %w", wrong)
		} else if err != nil {
			return err
		}
		most = math.Min(most, local)
	}
	*z = at(most)
	return nil
}
