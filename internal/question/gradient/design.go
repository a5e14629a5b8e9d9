package gradient

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/direction"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// directionPayload holds a sign and a seed.
var directionPayload = fragment.Size(direction.SignBytes)

// Design fills in the least noise that keeps the budget in one round, and the number and
// length of envelopes.
func Design(p plan.Plan) (plan.Plan, error) { return DesignRounds(p, 1) }

// DesignRounds returns the plan of each of so many rounds that the same respondents answer, and
// that keep the plan's budget together: its epsilon, and the local one, are those of all
// rounds. Those of the plan that it returns are one round's, at the same delta.
func DesignRounds(p plan.Plan, rounds int) (plan.Plan, error) {
	ask := *p.Question.Gradient // the caller's stays as it is
	p.Question.Gradient = &ask
	if rounds < 1 {
		return p, errors.New("gradient: a design for no round")
	}
	layers, err := network(ask.Model, ask.Dimension, len(ask.Classes))
	if err != nil {
		return p, err
	}
	design := designDirections
	switch {
	case ask.Report.Name == Vector && p.Route.Sum.AggregatorNoise():
		design = designProved
	case ask.Report.Name == Vector:
		design = designVectors
	}
	if err := design(&p, &ask, params(layers), rounds); err != nil {
		return p, err
	}
	report, err := newReporter(p, params(layers))
	if err != nil {
		return p, err
	}
	if rounds > 1 || p.Budget.Epsilon == 0 {
		p.Budget.Epsilon, err = terms.Implied(report.event(p.MinHonest()), p.Budget.Delta)
	}
	return p, err
}

// params returns how many numbers layers learn.
func params(layers []nn.Layer) (n int) {
	for _, l := range layers {
		_, _, learned := l.Shape()
		n += learned
	}
	return n
}

// designDirections takes the largest local epsilon that the budget allows.
func designDirections(p *plan.Plan, ask *plan.Gradient, dim, rounds int) error {
	p.Envelopes.PerDevice = 1
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = directionPayload
	}
	at := func(epsilon float64) {
		ask.Report.Epsilon = epsilon
		if ask.Report.Name == Cap {
			ask.Report.Share = direction.BestCap(dim, ask.Clip, epsilon).Share
		}
	}
	most := float64(direction.MaxEpsilon)
	if l := p.Budget.LocalEpsilon; l > 0 {
		most = math.Min(most, l/float64(rounds))
		p.Budget.LocalEpsilon = most
	}
	at(most)
	if p.Budget.Epsilon == 0 {
		if p.Budget.LocalEpsilon == 0 {
			return errors.New("gradient: the plan promises nothing: give budget.epsilon, budget.local_epsilon or both")
		}
		return nil
	}
	keeps := func() bool {
		report, err := newReporter(*p, dim)
		if err != nil {
			return false
		}
		g, err := account.Epsilon(account.Repeat{Event: report.event(p.MinHonest()), Rounds: rounds}, p.Budget.Delta)
		return err == nil && g.Epsilon <= p.Budget.Epsilon*(1-terms.ClaimSlack)
	}
	if keeps() {
		return nil
	}
	// Reports with the budget's own epsilon keep it in one round, though nobody hides them.
	low, high := math.Max(direction.MinEpsilon, p.Budget.Epsilon/float64(rounds)), most
	for range 14 { // to a part in a thousand
		middle := math.Sqrt(low * high)
		if at(middle); keeps() {
			low = middle
		} else {
			high = middle
		}
	}
	at(low)
	if !keeps() {
		return fmt.Errorf("gradient: no direction keeps budget.epsilon %g in %d rounds: promise more, or raise crowd.minimum", p.Budget.Epsilon, rounds)
	}
	return nil
}

// central refuses a budget that vectors are not designed for.
func central(p *plan.Plan) error {
	if p.Budget.Epsilon == 0 || p.Budget.LocalEpsilon != 0 {
		return errors.New("gradient: vectors are designed for budget.epsilon, and have no local one that means anything: ask for directions, or leave out budget.local_epsilon")
	}
	return nil
}

// designProved takes how finely numbers are rounded, and the least noise of the aggregators.
func designProved(p *plan.Plan, ask *plan.Gradient, dim, rounds int) error {
	if err := central(p); err != nil {
		return err
	}
	if ask.Report.Bits != 0 {
		return errors.New("gradient: where the length of vectors is proved a device answers with all of its gradient: leave out question.gradient.report.bits (--bits)")
	}
	steps, route, err := vector.DesignWhole(*p, rounds, func(steps int) (*vector.Whole, error) { return whole(*ask, dim, steps) })
	ask.Report.Steps, p.Route.Sum = steps, &route
	return err
}

// designVectors takes the least flips, and the clip of rotated coordinates and the envelopes
// that go with them.
func designVectors(p *plan.Plan, ask *plan.Gradient, dim, rounds int) error {
	if err := central(p); err != nil {
		return err
	}
	s, err := encode.ParseSeed(ask.Seed)
	if err != nil {
		return err
	}
	need := vector.Need{
		Respondents: p.Crowd.Minimum, Honest: p.MinHonest(), Dimension: dim, Bits: ask.Report.Bits, SquaredDistance: squaredDistance, Seed: s,
	}
	if need.Bits == 0 { // every row
		need.Bits = vector.LeastRows(dim, 0)
	}
	needs, shares := make([]vector.Need, rounds), make([]float64, rounds)
	for i := range needs {
		needs[i], shares[i] = need, 1/float64(rounds)
	}
	specs, err := vector.Rounds(needs, shares, p.Budget.Epsilon, p.Budget.Delta)
	if err != nil {
		return err
	}
	one := specs[0] // and as all others
	ask.Report.Bits, ask.Report.Radius, ask.Report.Flip = one.Answered, one.Clip, one.Flip
	if one.Answered < one.Rows {
		ask.Report.Rare = one.Rare
	}
	p.Envelopes.PerDevice = one.Envelopes
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	return nil
}
