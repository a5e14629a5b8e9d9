package analyzerd

import (
	"context"
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/storage/store"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// chargeRound is what a round of a study costs its population. The first that comes is
// charged for the whole study: for one round, where each respondent answers one, and
// rounds have other respondents each (parallel composition); for as many as there may
// be, where everybody may answer all. Later ones cost nothing more. The caller holds
// registering.
func (s *Service) chargeRound(ctx context.Context, one store.Spending, signed plan.Signed, p *protocol.Protocol) (store.Spending, error) {
	study, round := signed.Study, signed.Plan.Round
	rounds, err := s.rounds(ctx, round.Study)
	if err != nil {
		return one, err
	}
	if len(rounds) > 0 {
		one.Epsilon, one.Delta, one.Shift, one.Tail = 0, 0, 0, 0
		one.Note = fmt.Sprintf("round %d of study %s, which was charged with the first that came", round.Number, plan.Short(round.Study))
		return one, nil
	}
	note := fmt.Sprintf("study %s, of which each respondent answers one round", plan.Short(round.Study))
	if study.Takes == plan.TakesAll {
		all, err := p.Study(account.Spending{Epsilon: one.Epsilon, Delta: one.Delta, Domination: account.Domination{Shift: one.Shift, Tail: one.Tail}}, study.Rounds)
		if err != nil {
			return one, err
		}
		one.Epsilon, one.Delta, one.Shift, one.Tail = all.Epsilon, all.Delta, all.Domination.Shift, all.Domination.Tail
		note = fmt.Sprintf("all %d rounds of study %s", study.Rounds, plan.Short(round.Study))
	}
	if one.Note != "" {
		note += "; " + one.Note
	}
	one.Note = note
	return one, nil
}
