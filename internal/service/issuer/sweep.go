package issuer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/plan"
)

// closes returns when nothing of a plan is signed any more. Who had a token of a study is known
// until the whole study is over.
func closes(signed plan.Signed) time.Time {
	if signed.Study != nil {
		return signed.Study.Times.Closes
	}
	return signed.Plan.Times.Closes
}

// Run forgets plans whose retention is over, until the context ends.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if s.o.Store != nil {
		beside.Go(func() { registry.Follow(ctx, s.o.Log, "issuer", s.takeUp) })
	}
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

// finished returns the plans whose retention is over, by a clock that runs evenly.
func (s *Service) finished() []plan.Signed {
	return slices.DeleteFunc(s.plans.Known(), func(p plan.Signed) bool { return !s.plans.Over(p) || s.o.Clock.Settled() != nil })
}

// agreed says why our time of day is not believed: all hops that answer have another.
func (s *Service) agreed(p plan.Plan) error {
	if s.o.Clock == nil || s.o.Client == nil {
		return nil
	}
	return clock.Asked(s.o.Now(), serve.AskTimes(context.Background(), s.o.Client, p.HopURLs()...))
}

func (s *Service) forget(hash, scope [32]byte) error {
	s.plans.Loading.Lock()
	defer s.plans.Loading.Unlock()
	return s.end(context.Background(), hash, scope, func(p *served) { p.marks.end(errOver) })
}

// errOver is the error of a request that was under way when its plan was forgotten.
var errOver = errors.New("issuer: the plan was forgotten meanwhile")

// end serves a plan no more, and ends the marks where no other round shares them. The caller
// holds Loading.
func (s *Service) end(ctx context.Context, hash, scope [32]byte, last func(p *served)) error {
	if p, here := s.plans.Find(hash); here && s.sharing(hash, scope) == nil {
		last(p)
	}
	s.plans.Remove(hash)
	return s.remove(ctx, hash, scope)
}

// remove deletes a plan. What it claims stays: its keys sign for no other plan, ever. The marks
// stay while another round of its study is served, by whatever process.
func (s *Service) remove(ctx context.Context, hash, scope [32]byte) error {
	// The plan first: without it the marks are nobody's, and no restart serves it.
	last, err := s.erase(ctx, fmt.Sprintf("%x", hash), scope)
	if err != nil || !last {
		return err
	}
	if err := s.store.Drop(ctx, shelfName(scope)); err != nil && !errors.Is(err, keep.ErrMissing) {
		return explained(err)
	}
	if err := os.Remove(s.decisionsPath(scope)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}
