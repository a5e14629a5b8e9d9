package analyzerd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
)

// byTime is the name under which a collection is closed whose time has come.
const byTime = "the plan's times.closes"

// Run closes collections when their time has come, takes up what an earlier
// process left half done, and deletes what has expired, until the context ends.
func (s *Service) Run(ctx context.Context) error {
	tick, daily := time.NewTicker(poll), time.NewTicker(checkEvery)
	defer tick.Stop()
	defer daily.Stop()
	s.check(ctx, s.o.Store.CheckLedger) // the rest was read when the store was opened
	for {
		if err := s.Step(ctx); err != nil && ctx.Err() == nil {
			s.o.Log.Error("closing collections", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-daily.C:
			s.check(ctx, s.o.Store.Check)
		case <-tick.C:
		}
	}
}

// checkEvery is how often the whole database is read for damage.
const checkEvery = 24 * time.Hour

// check looks for damage, and keeps what it finds for the status.
func (s *Service) check(ctx context.Context, look func(context.Context) error) {
	err := look(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.o.Log.Error("the database is not as it was written", "reason", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rotten = err
}

// rot returns what the last check found; the ledger is asked each time.
func (s *Service) rot() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.rotten, rows.ErrLedger) {
		return nil
	}
	return s.rotten
}

// Step does once what Run does all the time. What goes wrong with one plan does
// not keep the others waiting.
func (s *Service) Step(ctx context.Context) error {
	plans, err := s.o.Store.Plans(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, p := range plans {
		if !p.Decided.IsZero() {
			if err := s.follow(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("analyzer: what follows plan %s: %w", p.Name, err))
			}
			if err := s.log(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("analyzer: the public log and plan %s: %w", p.Name, err))
			}
			continue
		}
		if err := s.ripe(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("analyzer: plan %s: %w", p.Name, err))
		}
		due, err := s.due(ctx, p)
		if err == nil && due && s.suspended(ctx, p.Name) != nil {
			continue // the status says so
		}
		if err == nil && due && p.Closed.IsZero() {
			err = s.agreed(ctx, p.Name)
		}
		if err == nil && due {
			err = s.Conclude(ctx, p.Name, byTime)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("analyzer: plan %s: %w", p.Name, err))
		}
	}
	return errors.Join(append(errs, s.expire(ctx))...)
}

// ripe fetches sums from the end of a collection on, until it is written up.
func (s *Service) ripe(ctx context.Context, p rows.Plan) error {
	o, err := s.outline(ctx, p.Name)
	if err != nil || !o.summed || o.closes.IsZero() || s.o.Now().Before(o.closes) || s.suspended(ctx, p.Name) != nil {
		return nil // what is wrong with a plan, due says
	}
	return s.collect(ctx, p.Name)
}

// due reports whether a plan is to be written up: it is closed, or its time has come.
func (s *Service) due(ctx context.Context, p rows.Plan) (bool, error) {
	if !p.Closed.IsZero() {
		return true, nil
	}
	o, err := s.outline(ctx, p.Name)
	if err != nil {
		return false, err
	}
	if o.closes.IsZero() || s.o.Now().Before(o.closes.Add(s.o.Grace)) {
		return false, nil
	}
	if waits, err := s.rowWaits(ctx, p.Name, o); err != nil || waits {
		return false, err
	}
	return true, s.o.Clock.Settled() // a verdict is for good
}

// expire deletes old tallies, now and then.
func (s *Service) expire(ctx context.Context) error {
	now := s.o.Now()
	s.mu.Lock()
	due := now.Sub(s.expired) >= time.Minute || now.Before(s.expired) // a clock may go back
	s.mu.Unlock()
	if !due || s.o.Clock.Settled() != nil {
		return nil
	}
	if err := s.shards.Forget(ctx); err != nil {
		return err
	}
	n, err := s.o.Store.Expire(ctx, now.Add(-s.o.Retention))
	if err != nil {
		return err
	}
	if n > 0 {
		s.o.Log.Info("old tallies deleted", "batches", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expired = now
	return nil
}
