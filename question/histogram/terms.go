package histogram

import (
	"fmt"
	"math"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Respondents who were asked another attribute, or fell into another row of a
// sketch, add no noise here. Who was asked what depends on nobody's answers, so let
// everybody see it: given that, each part of the respondents runs its mechanism by
// itself, and one respondent's data touches its own part only. That part holds
// fewer than hidden of so many honest respondents with probability slack, over all
// that it answers, which is added to delta (docs/histograms-privacy.md).

// slackShare of delta pays for parts that came out smaller.
const slackShare = 0.01

// parts returns the number of parts that respondents fall into at random.
func parts(ask plan.Histogram) int {
	n := 1
	if ask.Collect == plan.CollectSample {
		n = len(ask.Attributes)
	}
	if ask.Sketch != nil {
		n *= ask.Sketch.Hashes
	}
	return n
}

// hidden returns how many of so many honest respondents, the one in question among
// them, are in its part but for probability rare: one and the largest k with
// P(Binomial(honest-1, 1/parts) < k) <= rare.
func hidden(honest, parts int, rare float64) int {
	if parts == 1 {
		return honest
	}
	p := math.Nextafter(1/float64(parts), 0) // in a likelier part are more
	least := math.Log(rare) - 1e-11          // what the tail is trusted to
	return 1 + sort.Search(honest-1, func(k int) bool { return !(prob.LogBinomialCDF(k, honest-1, p) <= least) })
}

func (h *Question) slack() float64 {
	if parts(h.ask) == 1 || h.noised() { // nobody sees who was asked what
		return 0
	}
	return slackShare * h.plan.Budget.Delta
}

// Event returns that of all that a respondent answers.
func (h *Question) Event(honest int, again bool) account.Event {
	if h.noised() {
		return h.loss(honest)
	}
	if again {
		return h.composed(honest, randomizer.again)
	}
	return h.composed(honest, func(t randomizer, users int) account.Event { return t.event(users, h.plan.Budget.Delta) })
}

// Risks returns those of parts that came out smaller, and of a report's length.
func (h *Question) Risks() question.Risks {
	r := question.Risks{}
	switch {
	case h.noised() && shares(h.plan):
		r.Overflow = h.scattered.Cut(h.changed())
	case h.noised():
		r.Slack = h.appearing()
	default:
		r = question.Risks{Slack: h.slack(), Overflow: h.overflow(h.plan.MostMessages()), Messages: h.expected()}
	}
	if len(h.plan.Crowd.Names) > 0 {
		r.CrowdLoss = math.Inf(1) // who is in a natural crowd is public
	}
	return r
}

// users returns how many of so many honest respondents are counted on in each part.
func (h *Question) users(honest int) int {
	return hidden(honest, parts(h.ask), h.slack()/float64(h.answers()))
}

// composed returns the event of all that a respondent answers, among so many honest ones.
func (h *Question) composed(honest int, event func(t randomizer, users int) account.Event) account.Event {
	users := h.users(honest)
	if h.ask.Collect == plan.CollectSample {
		return event(h.worst, users)
	}
	var all account.All
	for _, t := range h.randomizers {
		all.Events = append(all.Events, event(t, users))
	}
	if len(all.Events) == 1 {
		return all.Events[0]
	}
	return all
}

// settle finds a table whose event stands for all of those of which one is drawn. It is
// the mechanism that says which one does: where it says nothing, nothing is assumed.
func (h *Question) settle() error {
	if h.ask.Collect != plan.CollectSample || h.noised() {
		return nil
	}
	for _, t := range h.randomizers {
		if worst, ok := t.covering(h.randomizers); ok {
			h.worst = worst
			return nil
		}
	}
	return fmt.Errorf(`histogram: %s over attributes of different sizes is not accounted for where one of them is drawn: set question.histogram.collect to "split", ask for equally many cells of each, or name another randomizer`, h.ask.Randomizer.Name)
}

func (h *Question) overflow(envelopes int) float64 {
	if !h.ask.Randomizer.OneHot() {
		needed := h.randomizers[0].(*symbols).messages * h.answers()
		if envelopes < needed {
			return 1
		}
		return 0
	}
	sum := 0.0
	for range h.plan.Contributions() {
		sum += h.together().overflow(envelopes)
	}
	return math.Min(1, sum)
}

func (h *Question) expected() float64 {
	if !h.ask.Randomizer.OneHot() {
		return float64(h.plan.MostMessages())
	}
	all := h.together()
	return all.mechanism.Messages(all.items, all.tau())
}

// together returns one table with all bits that a device sends at most.
func (h *Question) together() *bits {
	all := *h.randomizers[0].(*bits)
	k, items := 0, 0
	for _, t := range h.randomizers {
		b := t.(*bits)
		if h.ask.Collect == plan.CollectSample {
			k, items = max(k, b.mechanism.Backstop.K), max(items, b.items)
		} else {
			k, items = k+b.mechanism.Backstop.K, items+b.items
		}
	}
	all.mechanism = OneHot(h.ask.Randomizer, k)
	all.items = items
	return &all
}

// overflow bounds the probability that a contribution has more messages.
func (t *bits) overflow(envelopes int) float64 {
	if t.tau() == 1 {
		return t.mechanism.Fragment.OverflowProb(t.items, envelopes)
	}
	return t.mechanism.OverflowProb(t.items, t.rows, envelopes)
}

// smallestCap returns the least number of envelopes that overflow no more often.
func (t *bits) smallestCap(target float64) int {
	if t.tau() == 1 {
		return t.mechanism.Fragment.SmallestCap(t.items, target)
	}
	return t.mechanism.SmallestCap(t.items, t.rows, target)
}

func (h *Question) assumptions() []string {
	var out []string
	if h.plan.Route.Spreads() {
		out = append(out, fmt.Sprintf("The %d honest respondents of a batch are the same at every instance: each contributes to all of them, as devices do by themselves.", h.plan.MinHonest()))
	}
	return out
}

// claims checks the epsilons that the plan states beside its budget against its
// probabilities.
func (h *Question) claims() error {
	r := h.ask.Randomizer
	if !r.OneHot() {
		return nil // its epsilon is what is drawn with
	}
	check := func(field string, claimed float64, g account.Guarantee) error {
		if !(claimed >= g.Epsilon*(1-terms.ClaimSlack)) {
			return fmt.Errorf("plan: promise does not hold: the probabilities give a local epsilon of %.9g (%s), and question.histogram.randomizer.%s claims %.9g", g.Epsilon, g.Adjacency, field, claimed)
		}
		return nil
	}
	for _, t := range h.randomizers {
		b := t.(*bits)
		if err := check("epsilon", r.Epsilon, b.mechanism.Fragment.LocalSet(b.items, b.adjacency)); err != nil {
			return err
		}
		if b.tau() == 1 {
			continue
		}
		if err := check("backstop", r.Backstop, b.mechanism.Backstop.LocalSet(b.items, b.adjacency)); err != nil {
			return err
		}
	}
	return nil
}
