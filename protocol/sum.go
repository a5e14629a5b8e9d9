package protocol

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// summed returns the plan's question, if its answers can be summed.
func summed(p plan.Plan, q question.Question) (question.Summer, error) {
	s, ok := q.(question.Summer)
	if !ok {
		return nil, fmt.Errorf("route.kind: a question of kind %s is not summed: have its answers mixed", plan.Quoted(p.Question.Kind))
	}
	return s, nil
}

// checkSum says why the plan's circuit is not what its question takes.
func checkSum(p plan.Plan, q question.Question) error {
	s, err := summed(p, q)
	if err != nil {
		return err
	}
	want, err := s.Circuit()
	if err != nil {
		return err
	}
	if got := p.Route.Sum.Circuit; got != want {
		return fmt.Errorf("route.sum.circuit: the question takes %+v, and the plan has %+v: have it designed anew (confetti plan new)", want, got)
	}
	_, err = sum.New(p)
	return err
}

// Routed returns a designed plan with what the route of a sum has in the place of envelopes.
func Routed(p plan.Plan) (plan.Plan, error) {
	k, err := kindFor(p)
	if err != nil || p.Route.Sum == nil {
		return p, err
	}
	q, err := k.New(p)
	if err != nil {
		return p, err
	}
	s, err := summed(p, q)
	if err != nil {
		return p, err
	}
	route := *p.Route.Sum // the caller's stays as it is
	if route.Circuit, err = s.Circuit(); err != nil {
		return p, err
	}
	route.Wire, route.Proof, route.Chunk = plan.WireDAP18, plan.ProofPrio3, sum.Chunk(route.Circuit)
	p.Route.Sum = &route
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 0, 0
	return p, nil
}

// Measure returns the vector that a device splits between the aggregators, and the crowd that it
// reports: of a plan whose answers are summed.
func (p *Protocol) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	q, err := summed(p.Plan, p.Question)
	if err != nil {
		return 0, nil, err
	}
	return q.Measure(r, s, m)
}

// Sums returns what was counted of a crowd whose vectors have these sums. It is an error if they
// are fewer than the plan's minimum, or no answers of so many have these sums.
func (p *Protocol) Sums(sums []int64, respondents int) (tally.Crowd, error) {
	q, err := summed(p.Plan, p.Question)
	if err != nil {
		return tally.Crowd{}, err
	}
	if respondents < p.Plan.Crowd.Minimum {
		return tally.Crowd{}, fmt.Errorf("protocol: sums of fewer respondents than the plan's minimum of %d", p.Plan.Crowd.Minimum)
	}
	t, err := q.Sums(sums, respondents)
	if err != nil {
		return tally.Crowd{}, err
	}
	return tally.Crowd{Tally: t, Respondents: respondents, Smallest: respondents}, nil
}
