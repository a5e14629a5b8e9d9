package analyzerd

import (
	"context"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/service/serve"
)

// agreed says why a plan is not written up by our time of day: all hops that answer
// have another one. A verdict is for good.
func (s *Service) agreed(ctx context.Context, name string) error {
	if s.o.Clock == nil || s.o.Client == nil {
		return nil
	}
	run, err := s.run(ctx, name)
	if err != nil {
		return nil // whatever it is, it is said where the plan is served
	}
	err = clock.Asked(s.o.Now(), serve.AskTimes(ctx, s.o.Client, run.signed.Plan.HopURLs()...))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.apart, name)
	if err != nil {
		s.apart[name] = err
	}
	return err
}

// differs returns what agreed found last.
func (s *Service) differs(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.apart[name]
}
