package analyzerd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A sum may be one that can never be had: the leader says so, or what it gives, the same bytes each
// time, does not open. Nobody is asked for it again before a restart; the plan's state says so until
// the plan is written up without it, or withdrawn.

// enough is how many times in a row a sum must be unsound: what was spoilt on the way is not
// spoilt again and again.
const enough = 3

// unsound is the error of a sum that is not what the plan's two aggregators made of one crowd.
type unsound struct{ error }

func (u unsound) Unwrap() error { return u.error }

// giveUp asks no more for the sum of a crowd. why is empty where the leader withholds it.
func (s *Service) giveUp(name string, crowd uint32, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hopeless[name] == nil {
		s.hopeless[name] = map[uint32]string{}
	}
	s.hopeless[name][crowd] = why
	if why != "" {
		s.o.Log.Error("the sum of a crowd can never be had, and is not asked for again before a restart", "plan", name, "crowd", crowd, "reason", why)
	}
}

// givenUp reports whether the sum of a crowd is not asked for any more.
func (s *Service) givenUp(name string, crowd uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, is := s.hopeless[name][crowd]
	return is
}

// missed returns why the row of a round that is correlated with others is not here, if it is not.
func (s *Service) missed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, why := range s.hopeless[name] {
		if why != "" {
			return question.RowFailed
		}
	}
	switch s.unheard[name] {
	case wire.Withheld:
		return question.TooFew
	case wire.RowFailed:
		return question.RowFailed
	}
	return question.TooLate
}

// failed says of each crowd of a plan whose sum can never be had why, in their order.
func (s *Service) failed(name string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, crowd := range slices.Sorted(maps.Keys(s.hopeless[name])) {
		if why := s.hopeless[name][crowd]; why != "" {
			all = append(all, fmt.Sprintf("the sum of crowd %d can never be had: %s", int(crowd)+1, why))
		}
	}
	return all
}

// showFailed has a meter tell how many sums can never be had, of plans that are not written up.
func (s *Service) showFailed(m *metrics.Set) {
	m.Gauges(func(context.Context) ([]float64, error) {
		n := 0.0
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, crowds := range s.hopeless {
			for _, why := range crowds {
				if why != "" {
					n++
				}
			}
		}
		return []float64{n}, nil
	}, metrics.Gauge{Name: "analyzer_sums_failed", Help: "Sums of crowds that can never be had: their plans are to be withdrawn."})
}

// failedCrowds returns the crowds of a plan whose sums can never be had, in their order.
func (s *Service) failedCrowds(name string) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, crowd := range slices.Sorted(maps.Keys(s.hopeless[name])) {
		if s.hopeless[name][crowd] != "" {
			all = append(all, int(crowd))
		}
	}
	return all
}
