package protocol

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/plan"
)

// Rounds is what taking part in so many rounds of a study costs on the features, reported
// classes fixed, at delta in all. Rounds have the same mechanism, whatever their states
// are, so that they compose though a later state is made of earlier releases (adaptive
// composition of mechanisms that are fixed before the first).
func (p *Protocol) Rounds(rounds int, delta float64) (account.Guarantee, error) {
	n := p.Plan.HonestMinimum()
	event := p.loss()
	if rounds > 1 {
		event = p.Question.Loss(n, true)
	}
	k := float64(rounds)
	return withOverflow(account.Repeat{Event: event, Rounds: rounds}, k*float64(n)*p.risks().Overflow, k*p.risks().Slack, delta)
}

// InStudy says in a release what the study costs whoever takes part in it.
func (p *Protocol) InStudy(s plan.Study) string {
	begin := fmt.Sprintf("Round %d of at most %d of study %s. ", p.Plan.Round.Number, s.Rounds, plan.Short(p.Plan.Round.Study))
	if s.Takes == plan.TakesOne {
		return begin + "Each respondent answers one round, which its device has drawn without looking at the answer. The guarantees above are those of all rounds together."
	}
	g, err := p.Rounds(s.Rounds, p.Plan.Budget.Delta)
	if err != nil { // then they add up
		b := p.Plan.Budget
		g = account.Guarantee{Epsilon: float64(s.Rounds) * b.Epsilon, Delta: float64(s.Rounds) * b.Delta, Adjacency: account.Adjacency(b.Adjacency)}
	}
	return begin + fmt.Sprintf("Each respondent may answer all of them. The guarantees above are those of this round; of all %d rounds together, with the shuffler honest: %s.", s.Rounds, g.Verdict())
}
