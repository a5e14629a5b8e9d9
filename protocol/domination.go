package protocol

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
)

// tailShare of a plan's delta is what its domination may leave to tails.
const tailShare = 0.01

// Spending returns what a ledger needs of a plan's charge (Charge): for the neighbours that
// are asked for, its epsilon and delta, and the Gaussian that dominates what the
// observers of the shuffled guarantee see of it. That is certified from the mechanism,
// or from the charge alone where no Gaussian is known to dominate the mechanism.
func (p *Protocol) Spending(charge account.Guarantee, adjacency account.Adjacency) (account.Spending, error) {
	g, err := charge.Under(adjacency)
	if err != nil {
		return account.Spending{}, err
	}
	s := account.Spending{Epsilon: g.Epsilon, Delta: g.Delta, Domination: account.DominateKnown(g.Epsilon, g.Delta, adjacency)}
	if d, err := p.domination(adjacency); err == nil && !math.IsInf(d.Shift, 1) {
		s.Domination = d
	}
	return s, nil
}

func (p *Protocol) domination(adjacency account.Adjacency) (account.Domination, error) {
	answer, err := p.answered(adjacency)
	if err != nil {
		return answer, err
	}
	parts := []account.Domination{answer}
	if class := p.risks().CrowdLoss; class > 0 && !math.IsInf(class, 1) {
		parts = append(parts, account.DominateKary(class, p.Plan.Crowds(), answer.Adjacency))
	}
	if d := p.Plan.Crowd.Deletion; d != nil {
		sizes := additive.Crowd{Noise: d.Noise, Threshold: d.Threshold}.Guarantee(answer.Adjacency)
		parts = append(parts, account.DominateKnown(sizes.Epsilon, sizes.Delta, answer.Adjacency))
		if p.Plan.Crowds() > 1 && answer.Adjacency == account.Replacement {
			parts = append(parts, answer) // in the crowd that is left, and in the one that is entered
		} else if p.Plan.Crowds() > 1 {
			// In the crowd that is entered another record stands, not the reference.
			if parts[0], err = p.answered(account.Replacement); err != nil {
				return answer, err
			}
			parts[0].Adjacency = answer.Adjacency
		}
	}
	sum, err := account.Together(parts...)
	sum.Adjacency = adjacency // replacement is removal as it stands
	return sum, err
}

// answered returns the domination of an answer in one crowd, for the neighbours that are
// asked for or for replacement.
func (p *Protocol) answered(adjacency account.Adjacency) (account.Domination, error) {
	return p.dominated(p.Question.Event(p.Plan.MinHonest(), true), 1, adjacency)
}

// dominated returns the domination of the event of so many rounds. Reports that outgrow their
// envelopes, and parts that came out smaller than is counted on, are in it.
func (p *Protocol) dominated(e account.Event, rounds int, adjacency account.Adjacency) (account.Domination, error) {
	dominate := account.Dominate
	if adjacency == account.Replacement {
		dominate = account.DominateReplaced
	}
	k := float64(rounds)
	d, err := dominate(e, k*tailShare*p.Plan.Budget.Delta)
	if err != nil {
		return d, err
	}
	overflow := k * float64(p.Plan.MinHonest()) * p.risks().Overflow
	return d.Failing(k * p.risks().Slack).Spoilt(math.Min(1, overflow)), nil
}
