package analyzerd

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// charged returns what a plan costs its population, where it is no later round of a study. The first
// round that comes is charged for the whole study: for one round, where each respondent
// answers one, and rounds have other respondents each (parallel composition); for as many as
// there may be, where everybody may answer all. Each number is registered once
// (rows.Register), so that there are no more.
func charged(p *protocol.Protocol, adjacency account.Adjacency, study *plan.Study) (rows.Spending, error) {
	promise, err := p.Promise()
	if err != nil {
		return rows.Spending{}, err
	}
	one, err := priced(p, promise, adjacency)
	if err != nil || study == nil {
		return one, err
	}
	note := fmt.Sprintf("study %s, of which each respondent answers one round", plan.Short(p.Plan.Round.Study))
	if study.Takes == plan.TakesAll {
		all, err := p.Study(account.Spending{Epsilon: one.Epsilon, Delta: one.Delta, Domination: account.Domination{Shift: one.Shift, Tail: one.Tail}}, study.Rounds)
		if err != nil {
			return one, err
		}
		one.Epsilon, one.Delta, one.Shift, one.Tail = all.Epsilon, all.Delta, all.Domination.Shift, all.Domination.Tail
		note = fmt.Sprintf("all %d rounds of study %s", study.Rounds, plan.Short(p.Plan.Round.Study))
	}
	if one.Note != "" {
		note += "; " + one.Note
	}
	one.Note = note
	return one, nil
}

// later returns what a round costs of a study whose first one was charged.
func later(one rows.Spending, round plan.Round) rows.Spending {
	one.Epsilon, one.Delta, one.Shift, one.Tail = 0, 0, 0, 0
	one.Note = fmt.Sprintf("round %d of study %s, which was charged with the first that came", round.Number, plan.Short(round.Study))
	return one
}
