package analyzerd

import (
	"context"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account/profile"
	"github.com/confetti-dp/confetti/internal/store"
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
		if one, err = ofStudy(one, p, study.Rounds); err != nil {
			return one, err
		}
		note = fmt.Sprintf("all %d rounds of study %s", study.Rounds, plan.Short(round.Study))
	}
	if one.Note != "" {
		note += "; " + one.Note
	}
	one.Note = note
	return one, nil
}

// ofStudy is what all rounds cost, given what this one does.
func ofStudy(one store.Spending, p *protocol.Protocol, rounds int) (store.Spending, error) {
	all := times(one, rounds)
	s, staged, err := p.Study(rounds)
	if err == nil && staged {
		all.Epsilon, all.Delta = profile.Above(s.Epsilon), math.Min(1, profile.Above(s.Delta))
		all.Shift, all.Tail = s.Domination.Shift, s.Domination.Tail
	}
	return all, err
}

// times is what so many rounds of one cost are for a filter: epsilons, deltas and tails
// add up, and so do the squares of the shifts. All that is fixed before the first round
// is the mechanism, and what the state of a later one is made of are releases of earlier
// ones, which composition allows.
func times(one store.Spending, rounds int) store.Spending {
	k := float64(rounds)
	one.Epsilon, one.Delta = profile.Above(k*one.Epsilon), math.Min(1, profile.Above(k*one.Delta))
	one.Shift, one.Tail = profile.Above(math.Sqrt(k)*one.Shift), math.Min(1, profile.Above(k*one.Tail))
	return one
}
