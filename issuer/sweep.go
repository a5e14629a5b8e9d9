package issuer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/plan"
)

// over reports whether everything about a plan is due to be deleted.
// Who had a token of a study is known until the whole study is over.
func (s *Service) over(signed plan.Signed) bool {
	closes := signed.Plan.Times.Closes
	if signed.Study != nil {
		closes = signed.Study.Times.Closes
	}
	return !s.o.Now().Before(closes.Add(s.o.Retention))
}

// Run forgets plans whose retention is over, until the context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.Sweep(); err != nil {
			s.o.Log.Error("plans cannot be forgotten", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep forgets plans whose retention is over, once. Who had tokens of a plan is
// forgotten for good, so the plan's hops are asked for the time first.
func (s *Service) Sweep() error {
	var errs []error
	var apart error
	for _, p := range s.finished() {
		if err := s.agreed(p.Plan); err != nil {
			apart = err
			continue
		}
		errs = append(errs, s.forget(p.Plan.Hash(), scope(p)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apart = apart
	return errors.Join(errs...)
}

// finished are the plans whose retention is over, by a clock that runs evenly.
func (s *Service) finished() (all []plan.Signed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(p plan.Signed) {
		if s.over(p) && s.o.Clock.Settled() == nil {
			all = append(all, p)
		}
	}
	for _, p := range s.plans {
		add(p.signed)
	}
	for _, p := range s.idle {
		add(p.signed)
	}
	return all
}

// agreed says why our time of day is not believed: all hops that answer have another.
func (s *Service) agreed(p plan.Plan) error {
	if s.o.Clock == nil || s.o.Client == nil {
		return nil
	}
	return clock.Asked(s.o.Now(), serve.AskTimes(context.Background(), s.o.Client, p.HopURLs()...))
}

func (s *Service) forget(hash, scope [32]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if p := s.plans[hash]; p != nil && s.sharing(hash, scope) == nil {
		err = p.log.close()
	}
	delete(s.plans, hash)
	delete(s.idle, hash)
	return errors.Join(err, s.remove(hash, scope))
}

// remove deletes the files of a plan. The files of its keys stay: they sign for no
// other plan, ever.
// Those of the marks stay while another round of its study is served.
func (s *Service) remove(hash, scope [32]byte) error {
	var errs []error
	// The plan first: without it the marks are nobody's, and no restart serves it.
	paths := []string{s.path(hash, "plan")}
	if s.alone(hash, scope) {
		paths = append(paths, s.path(scope, "log"), s.path(scope, "end"))
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("issuer: %w", err))
		}
	}
	return errors.Join(errs...)
}
