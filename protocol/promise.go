package protocol

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
)

// Promise is what a plan's numbers amount to.
type Promise struct {
	Statements []account.Statement // for the three observers
	Shuffled   account.Guarantee   // of the features, reported label fixed
	Cost       []release.Metric    // of one device
}

// Trust returns what a plan's promise rests on: an honest shuffler, or as many honest aggregators
// as its noise needs.
func Trust(p plan.Plan) account.Trust {
	switch s := p.Route.Sum; {
	case s == nil:
		return account.Shuffled
	case s.Noise == plan.NoiseShared:
		return account.AggregatorsHonest
	}
	return account.AggregatorHonest
}

// kept returns the statement of what is promised. ok is false where there is none.
func (p *Protocol) kept(promise Promise) (s account.Statement, ok bool) {
	for _, s := range promise.Statements {
		if s.Guarantee.Trust == Trust(p.Plan) {
			return s, true
		}
	}
	return s, false
}

// Check recomputes a plan's promise from its numbers, as a device does before
// it answers, and returns an error if the promise does not follow.
func Check(p plan.Plan) error {
	proto, err := New(p)
	if err != nil {
		return err
	}
	_, err = proto.Promise()
	return err
}

// Promise runs the accountant. The error says by how much a false promise is
// short and what to change.
func (p *Protocol) Promise() (Promise, error) {
	b := p.Plan.Budget
	overflow := p.overflowDelta()
	delta := b.Delta - overflow - p.risks().Slack
	if delta <= 0 {
		return Promise{}, fmt.Errorf("plan: promise does not hold: %w", p.spent(b.Delta))
	}
	g, err := account.Epsilon(p.loss(), delta)
	if err != nil {
		return Promise{}, err
	}
	g = p.trusted(g)
	if b.Adjacency == plan.AdjacencyLabel { // of an answer that is the label
		if g, err = g.Under(account.Label); err != nil {
			return Promise{}, err
		}
	}
	if g.Epsilon > b.Epsilon {
		advice, from := "add noise, raise crowd.minimum, or promise less", fmt.Sprintf("%d honest respondents", g.Users)
		if p.noised() {
			advice, from = "add noise, or promise less", "any respondents"
		}
		if p.Plan.Route.Sum == nil && overflow > question.OverflowShare*b.Delta {
			advice = fmt.Sprintf("raise envelopes.per_device, whose overflow takes %.2g of delta, ", overflow) + advice
		}
		return Promise{}, fmt.Errorf("plan: promise does not hold: the noise gives epsilon %.6g at delta %g with %s, and budget.epsilon promises %.6g: %s", g.Epsilon, b.Delta, from, b.Epsilon, advice)
	}
	g.Delta = b.Delta
	statements, err := p.observers(g)
	if err != nil {
		return Promise{}, err
	}
	if err := keepsLocal(b, statements); err != nil {
		return Promise{}, err
	}
	return Promise{Statements: statements, Shuffled: g, Cost: p.cost()}, nil
}

// Shuffled is the guarantee of the noise for an honest shuffler after so many collections
// of the plan from the same respondents, with what Design leaves of delta. It is known of
// noise that takes more messages than a device may send, too, and is for simulations. Of a sum
// all is charged that devices' shares are cut off.
func (p *Protocol) Shuffled(times int) (account.Guarantee, error) {
	delta := p.Plan.Budget.Delta
	spent := p.overflowDelta()
	if p.Plan.Route.Sum == nil {
		spent = min(spent, question.OverflowShare*delta)
	}
	left := delta - spent - float64(times)*p.risks().Slack
	loss := p.loss()
	if times > 1 {
		loss = account.Repeat{Event: loss, Rounds: times}
	}
	g, err := account.Epsilon(loss, left)
	g = p.trusted(g)
	g.Delta = delta
	return g, err
}

// trusted is the guarantee with what the plan's promise rests on: an honest shuffler, or honest
// aggregators, and respondents where these add the noise.
func (p *Protocol) trusted(g account.Guarantee) account.Guarantee {
	if p.Plan.Route.Sum != nil {
		g.Trust = Trust(p.Plan)
	}
	if p.noised() {
		g.Users = 1 // whoever else is honest
	}
	return g
}

// spent is the error of a delta that is spent on what is cut off reports.
func (p *Protocol) spent(delta float64) error {
	if p.Plan.Route.Sum != nil {
		return fmt.Errorf("devices' shares of noise go beyond what a number may be so often that delta %g is spent on that alone: raise budget.delta, or have aggregators add the noise", delta)
	}
	return fmt.Errorf("reports outgrow their %d envelopes so often that delta %g is spent on that alone: raise envelopes.per_device", p.Plan.Envelopes.PerDevice, delta)
}

// keepsLocal checks that promise against the statement.
func keepsLocal(b plan.Budget, statements []account.Statement) error {
	if b.LocalEpsilon == 0 {
		return nil
	}
	for _, s := range statements {
		if g := s.Guarantee; g.Trust == account.Local && !(g.Epsilon*(1-question.ClaimSlack) <= b.LocalEpsilon) {
			return fmt.Errorf("plan: promise does not hold: though everyone colludes the noise gives epsilon %.6g (%s), and budget.local_epsilon promises %.6g: add noise, or promise less", g.Epsilon, g.Adjacency, b.LocalEpsilon)
		}
	}
	return nil
}

// overflowDelta is what dropped messages may add to delta. Where no honest
// respondent's report overflows, the law is the one accounted for; the chance
// that one does is at most n times that of one report, on either of two
// neighbouring data sets, so (epsilon, delta) becomes (epsilon, delta +
// (1+e^epsilon) n P(overflow)).
func (p *Protocol) overflowDelta() float64 {
	n := p.Plan.HonestMinimum()
	one := p.risks().Overflow
	if one == 0 {
		return 0 // times an e^epsilon that may be infinite
	}
	return (1 + math.Exp(p.Plan.Budget.Epsilon)) * float64(n) * one
}

func (p *Protocol) cost() []release.Metric {
	if p.Plan.Route.Sum != nil {
		return p.sumCost()
	}
	e := p.Plan.Envelopes
	hops, largest, all := 0, 0, 0
	for i, in := range p.Plan.Route.Instances() {
		hops = max(hops, len(in.Hops))
		size := envelope.Suite(e.Suite).Size(len(in.Hops)+1, e.PayloadBytes)
		for _, slot := range p.Plan.Slots(i) {
			size += slot
		}
		largest = max(largest, size)
		all += size
	}
	contributions := p.Plan.Contributions()
	if contributions == 1 {
		all = largest
	}
	bytes := e.PerDevice * all
	metrics := []release.Metric{{Name: "messages_per_device", Label: "Messages per device", Value: float64(e.PerDevice * contributions), Unit: release.Count, Note: "the same for every device, whatever its data"}}
	if expected := p.risks().Messages; expected > 0 {
		metrics = append(metrics, release.Metric{Name: "messages_expected", Label: "Of these not dummies", Value: expected, Note: "in the mean, of the longest answer"})
		if rare := p.risks().Overflow; rare > 0 {
			metrics = append(metrics, release.Metric{Name: "overflow_probability", Label: "A report outgrows them", Value: rare, Note: fmt.Sprintf("probability, for which messages are dropped; it takes %.2g of delta", p.overflowDelta())})
		}
	}
	return append(metrics, release.Metric{
		Name: "bytes_per_device", Label: "Bytes per device", Value: float64(bytes), Unit: release.Bytes, Note: fmt.Sprintf("sealed in %d layers, suite %s", hops+1, e.Suite),
	})
}

// Statement is a release with all that follows from the plan, its promise and the realised
// numbers of respondents: everything but the findings. Came is how many respondents of
// each crowd answered, counted or not; nil where that is not known.
func (p *Protocol) Statement(promise Promise, crowds []tally.Crowd, came []int) release.Release {
	words := p.words()
	r := release.Release{
		Title: p.Plan.Title, Kind: p.Plan.Question.Kind, Plan: p.Plan.Name(), Question: words.Asked, Source: release.Collection,
		Guarantees: promise.Statements, Cost: promise.Cost,
		Assumptions: p.assumptions(),
	}
	r.Assumptions = append(r.Assumptions, words.Assumptions...)
	for _, s := range []string{words.Thinning, words.Unfit} {
		if s != "" {
			r.Assumptions = append(r.Assumptions, s)
		}
	}
	r.Protection = append(r.Protection, p.honesty(promise.Shuffled, crowds))
	if p.oneOperator() {
		r.Source = release.Trial
	}
	for crowd, c := range crowds {
		if c.Tally == nil {
			r.Withheld = append(r.Withheld, p.withheld(crowd, came))
		}
	}
	return r
}

// assumptions are those that the route rests on.
func (p *Protocol) assumptions() []string {
	if p.Plan.Route.Sum != nil {
		return p.sumAssumptions()
	}
	return append([]string{
		"At least one hop of each shuffler instance keeps its permutation and its key to itself.",
		p.enoughNoise(),
		"The entry hop counts only respondents that exist.",
		"HPKE and AES-128 hold.",
	}, p.deletes()...)
}

func (p *Protocol) enoughNoise() string {
	return fmt.Sprintf("At least %d of the smallest released crowd's respondents add their noise as the plan says (a dishonest share of at most %g).", p.Plan.HonestMinimum(), p.Plan.Budget.DishonestShare)
}

// oneOperator reports whether the analyzer's operator runs every hop of an instance: it
// has all keys on that way, and no hop there is honest towards it. Of a sum it does where
// one operator runs both aggregators, and where each adds half of the noise, one of them
// and the analyzer.
func (p *Protocol) oneOperator() bool {
	if s := p.Plan.Route.Sum; s != nil {
		reader := p.Plan.Analyzer.Operator
		return s.Leader.Operator == s.Helper.Operator || s.Noise == plan.NoiseShared && (s.Leader.Operator == reader || s.Helper.Operator == reader)
	}
	return slices.ContainsFunc(p.Plan.Route.Instances(), func(in plan.Instance) bool {
		return !slices.ContainsFunc(in.Hops, func(h plan.Party) bool { return h.Operator != p.Plan.Analyzer.Operator })
	})
}

// withheld says why nothing is published of a crowd and, where its size is known and the
// plan keeps no sizes private, how many answers it lacked.
func (p *Protocol) withheld(crowd int, came []int) string {
	few := fmt.Sprintf("fewer than %d respondents", p.Plan.Crowd.Minimum)
	switch {
	case p.Plan.Crowd.Deletion != nil:
		few += " after deletion, or lost to its noise"
	case came != nil && came[crowd] < p.Plan.Crowd.Minimum:
		few = fmt.Sprintf("%d of %d answered, %d too few", came[crowd], p.Plan.Crowd.Minimum, p.Plan.Crowd.Minimum-came[crowd])
	}
	if p.Plan.Route.Sum != nil {
		return fmt.Sprintf("%s: %s; no sum of them left the aggregators", p.CrowdName(crowd), few)
	}
	return fmt.Sprintf("%s: %s; nothing of them left the shuffler, whose entry tells their devices that they were not counted", p.CrowdName(crowd), few)
}
