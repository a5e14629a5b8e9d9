package protocol

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/internal/prob"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// Respondents who were asked another attribute, or fell into another row of a
// sketch, add no noise here. Who was asked what depends on nobody's answers, so let
// everybody see it: given that, each part of the respondents runs its mechanism by
// itself, and one respondent's data touches its own part only. That part holds
// fewer than hidden of so many honest respondents with probability slack, over all
// that it answers, which is added to delta (docs/histograms.md).

// slackShare of delta pays for parts that came out smaller.
const slackShare = 0.01

// parts is the number of parts that respondents fall into at random.
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

// hidden is how many of so many honest respondents, the one in question among
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

func (h *histogram) slack() float64 {
	if parts(h.ask) == 1 {
		return 0
	}
	return slackShare * h.plan.Budget.Delta
}

func (h *histogram) loss() account.Event { return h.thinned(h.plan.HonestMinimum()) }

func (h *histogram) thinned(honest int) account.Event {
	return h.composed(honest, func(t table, users int) account.Event { return t.event(users, h.plan.Budget.Delta) })
}

func (h *histogram) again() account.Event {
	return h.composed(h.plan.HonestMinimum(), table.again)
}

// users is how many of so many honest respondents are counted on in each part.
func (h *histogram) users(honest int) int {
	return hidden(honest, parts(h.ask), h.slack()/float64(h.answers()))
}

// composed is the event of all that a respondent answers, among so many honest ones.
func (h *histogram) composed(honest int, event func(t table, users int) account.Event) account.Event {
	users := h.users(honest)
	if h.ask.Collect == plan.CollectSample {
		return event(h.worst(), users)
	}
	var all account.All
	for _, t := range h.tables {
		all.Events = append(all.Events, event(t, users))
	}
	if len(all.Events) == 1 {
		return all.Events[0]
	}
	return all
}

// worst is a table that costs a respondent as much as any: of bits the one with the
// most items; of symbols that with the fewest cells, of which each answer favours the
// largest share (docs/accounting.md).
func (h *histogram) worst() table {
	most := slices.MaxFunc(h.tables, func(a, b table) int {
		if x, ok := a.(*bits); ok {
			return x.items - b.(*bits).items
		}
		return b.(*symbols).size - a.(*symbols).size
	})
	if t, ok := most.(*symbols); ok {
		worst := *t
		byCell := h.ask.Randomizer.Name == "krr" || h.ask.Randomizer.Name == "subset"
		worst.covers = byCell && slices.ContainsFunc(h.tables, func(other table) bool { return other.(*symbols).size != t.size })
		return &worst
	}
	return most
}

func (h *histogram) overflow(_, envelopes int) float64 {
	if !h.ask.Randomizer.OneHot() {
		needed := h.tables[0].(*symbols).messages * h.answers()
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

func (h *histogram) expected() float64 {
	if !h.ask.Randomizer.OneHot() {
		return float64(h.plan.Envelopes.PerDevice)
	}
	all := h.together()
	return all.mechanism.Messages(all.items, all.tau())
}

// together is one table with all bits that a device sends at most.
func (h *histogram) together() *bits {
	all := *h.tables[0].(*bits)
	k, items := 0, 0
	for _, t := range h.tables {
		b := t.(*bits)
		if h.ask.Collect == plan.CollectSample {
			k, items = max(k, b.mechanism.Backstop.K), max(items, b.items)
		} else {
			k, items = k+b.mechanism.Backstop.K, items+b.items
		}
	}
	all.mechanism = oneHot(h.ask.Randomizer, k)
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

// smallestCap is the least number of envelopes that overflow no more often.
func (t *bits) smallestCap(target float64) int {
	if t.tau() == 1 {
		return t.mechanism.Fragment.SmallestCap(t.items, target)
	}
	return t.mechanism.SmallestCap(t.items, t.rows, target)
}

// crowdLoss: who is in a natural crowd is public.
func (h *histogram) crowdLoss() float64 {
	if len(h.ask.Crowds) == 0 {
		return 0
	}
	return math.Inf(1)
}

// threatModels are what is learned by who opens some of a device's report fragments.
func (h *histogram) threatModels(promised account.Guarantee) []release.Table {
	if !h.ask.Randomizer.OneHot() || h.ask.Randomizer.Fragments <= 1 {
		return nil
	}
	t := release.Table{
		Title:   "If some of your report fragments are opened, and known to be yours",
		Columns: []release.Column{{Label: "fragments opened", Unit: release.Count}, {Label: fmt.Sprintf("epsilon (%s)", promised.Adjacency)}},
		Note:    fmt.Sprintf("At delta %g, the other fragments seen among everybody's: the backstop of epsilon %s is never exceeded, however often the same is asked.", h.plan.Budget.Delta, account.AtMost(h.ask.Randomizer.Backstop, 4)),
	}
	local, err := h.local()
	if err != nil {
		local.Epsilon = math.Inf(1)
	}
	removal := promised.Adjacency == account.Removal
	if removal {
		t.Columns = append(t.Columns, replacementColumn)
		t.Note += replacementNote
	}
	tau := h.ask.Randomizer.Fragments
	for seen := 1; ; seen = min(2*seen, tau) {
		epsilon := h.fragmentsSeen(seen, local).Epsilon
		row := []release.Cell{release.Number(float64(seen), 0), epsilonCell(epsilon)}
		if removal {
			row = append(row, epsilonCell(2*epsilon))
		}
		t.Rows = append(t.Rows, row)
		if seen == tau {
			return []release.Table{t}
		}
	}
}

func (h *histogram) assumptions() []string {
	var out []string
	if h.plan.Route.Mix.Spread == plan.SpreadAll {
		out = append(out, fmt.Sprintf("The %d honest respondents of a batch are the same at every instance: each contributes to all of them, as devices do by themselves.", h.plan.HonestMinimum()))
	}
	if h.plan.Crowd.Deletion != nil {
		out = append(out, "The entry hop deletes contributions at random, as many as its noise says, and tells nobody how many. An observer who controls respondents of a crowd sees which of theirs were deleted, and learns more of its size than is stated.")
	}
	return out
}

// claims checks the epsilons that the plan states beside its budget against its
// probabilities.
func (h *histogram) claims() error {
	if d := h.plan.Crowd.Deletion; d != nil {
		sizes := additive.Crowd{Noise: d.Noise, Threshold: d.Threshold}.Guarantee(account.Replacement)
		if !(d.Epsilon >= sizes.Epsilon*(1-claimSlack) && d.Delta >= sizes.Delta*(1-claimSlack)) {
			return fmt.Errorf("plan: promise does not hold: the noise of crowd.deletion gives epsilon %.9g and delta %.3g, and it claims %.9g and %.3g", sizes.Epsilon, sizes.Delta, d.Epsilon, d.Delta)
		}
	}
	r := h.ask.Randomizer
	if !r.OneHot() {
		return nil // its epsilon is what is drawn with
	}
	b := h.worst().(*bits)
	check := func(field string, claimed float64, g account.Guarantee) error {
		if !(claimed >= g.Epsilon*(1-claimSlack)) {
			return fmt.Errorf("plan: promise does not hold: the probabilities give a local epsilon of %.9g (%s), and question.histogram.randomizer.%s claims %.9g", g.Epsilon, b.adjacency, field, claimed)
		}
		return nil
	}
	if err := check("epsilon", r.Epsilon, b.mechanism.Fragment.LocalSet(b.items, b.adjacency)); err != nil || b.tau() == 1 {
		return err
	}
	return check("backstop", r.Backstop, b.mechanism.Backstop.LocalSet(b.items, b.adjacency))
}

// claimSlack is for another machine's rounding, and for epsilons that are written
// in a plan with few digits.
const claimSlack = 1e-9
