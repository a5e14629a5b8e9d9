package protocol

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Promise is what a plan's numbers amount to.
type Promise struct {
	Statements []account.Statement // one for each observer
	Shuffled   account.Guarantee   // what the plan promises of the answer; of a density, reported label fixed
}

// Trust returns what a plan's promise rests on: an honest shuffler, or as many honest aggregators
// as its noise needs, or the holder of a table.
func Trust(p plan.Plan) account.Trust {
	switch s := p.Route.Sum; {
	case p.Route.Table != nil:
		return account.Central
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
	overflow := p.OverflowDelta()
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
		if p.Noised() {
			advice, from = "add noise, or promise less", "any respondents"
		}
		if p.Plan.Route.Sum == nil && overflow > terms.OverflowShare*b.Delta {
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
	return Promise{Statements: statements, Shuffled: g}, nil
}

// Shuffled returns the guarantee of the noise for an honest shuffler after so many collections
// of the plan from the same respondents, with what Design leaves of delta. It is known of
// noise that takes more messages than a device may send, too, and is for simulations. Of a sum
// all is charged that devices' shares are cut off.
func (p *Protocol) Shuffled(times int) (account.Guarantee, error) {
	delta := p.Plan.Budget.Delta
	spent := p.OverflowDelta()
	if p.Plan.Route.Noise() == nil {
		spent = min(spent, terms.OverflowShare*delta)
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

// trusted returns the guarantee with what the plan's promise rests on: an honest shuffler, or honest
// aggregators, and respondents where these add the noise.
func (p *Protocol) trusted(g account.Guarantee) account.Guarantee {
	if p.Plan.Route.Noise() != nil {
		g.Trust = Trust(p.Plan)
	}
	if p.Noised() {
		g.Users = 1 // whoever else is honest
	}
	return g
}

// spent returns the error of a delta that is spent on what is cut off reports.
func (p *Protocol) spent(delta float64) error {
	if p.Plan.Route.Sum != nil {
		return fmt.Errorf("devices' shares of noise go beyond what a number may be so often that delta %g is spent on that alone: raise budget.delta, or have aggregators add the noise", delta)
	}
	return fmt.Errorf("reports outgrow their %d envelopes so often that delta %g is spent on that alone: raise envelopes.per_device", p.Plan.Envelopes.PerDevice, delta)
}

// keepsLocal refuses a plan whose budget.local_epsilon is below what the local statement gives.
func keepsLocal(b plan.Budget, statements []account.Statement) error {
	if b.LocalEpsilon == 0 {
		return nil
	}
	for _, s := range statements {
		if g := s.Guarantee; g.Trust == account.Local && !(g.Epsilon*(1-terms.ClaimSlack) <= b.LocalEpsilon) {
			return fmt.Errorf("plan: promise does not hold: though everyone colludes the noise gives epsilon %.6g (%s), and budget.local_epsilon promises %.6g: add noise, or promise less", g.Epsilon, g.Adjacency, b.LocalEpsilon)
		}
	}
	return nil
}

// OverflowDelta returns what dropped messages may add to delta. Where no honest
// respondent's report overflows, the law is the one accounted for; the chance
// that one does is at most n times that of one report, on either of two
// neighbouring data sets, so (epsilon, delta) becomes (epsilon, delta +
// (1+e^epsilon) n P(overflow)).
func (p *Protocol) OverflowDelta() float64 {
	n := p.Plan.MinHonest()
	one := p.risks().Overflow
	if one == 0 {
		return 0 // times an e^epsilon that may be infinite
	}
	return (1 + math.Exp(p.Plan.Budget.Epsilon)) * float64(n) * one
}

// OneOperator reports whether the analyzer's operator runs every hop of an instance: it
// has all keys on that way, and no hop there is honest towards it. Of a sum it does where
// one operator runs both aggregators, and where each adds half of the noise, one of them
// and the analyzer.
func (p *Protocol) OneOperator() bool {
	if s := p.Plan.Route.Sum; s != nil {
		reader := p.Plan.Analyzer.Operator
		return s.Leader.Operator == s.Helper.Operator || s.Noise == plan.NoiseShared && (s.Leader.Operator == reader || s.Helper.Operator == reader)
	}
	return slices.ContainsFunc(p.Plan.Route.Instances(), func(in plan.Instance) bool {
		return !slices.ContainsFunc(in.Hops, func(h plan.Party) bool { return h.Operator != p.Plan.Analyzer.Operator })
	})
}
