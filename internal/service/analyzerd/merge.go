package analyzerd

import (
	"context"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// together adds up the rounds of a study up to one that is about to be released: those
// that were released, and asked with the same state. Their respondents are others each
// (plan.Study.Merged), so that counts add up as those of instances do, and what is learned
// from the sum costs each of them one round.
func (s *Service) together(ctx context.Context, run *running) (*counted, error) {
	newest := run.signed.Plan
	rounds, err := s.o.Store.Rounds(ctx, newest.Round.Study)
	if err != nil {
		return nil, err
	}
	sum := &counted{crowds: make([]tally.Crowd, newest.Crowds()), study: run.signed.Study}
	for number := 1; number <= newest.Round.Number; number++ {
		name := rounds[number]
		if takes, err := s.adds(ctx, name, newest); err != nil {
			return nil, err
		} else if !takes {
			continue
		}
		one, err := s.counted(ctx, name, run.protocol)
		if err != nil {
			return nil, err
		}
		if len(one.batches) == 0 && name != newest.Name() {
			sum.rounds = append(sum.rounds, release.Round{Number: number, Plan: name, Deleted: true})
			continue
		}
		round := release.Round{Number: number, Plan: name, Dropped: one.dropped}
		for _, crowd := range slices.Sorted(maps.Keys(one.without)) {
			round.Without = append(round.Without, crowd+1)
		}
		sum.rounds = append(sum.rounds, round)
		for i, c := range one.crowds {
			if err := sum.crowds[i].Merge(c); err != nil {
				return nil, err
			}
		}
	}
	return sum, nil
}

// adds says whether a round's counts add up with those of the newest: it was released, or
// is the newest, and asked the same.
func (s *Service) adds(ctx context.Context, name string, newest plan.Plan) (bool, error) {
	if name == "" || name == newest.Name() {
		return name != "", nil
	}
	p, err := s.o.Store.Plan(ctx, name)
	if err != nil || !p.Released {
		return false, err
	}
	_, round, err := s.study(ctx, name)
	return round.State == newest.State, err
}
