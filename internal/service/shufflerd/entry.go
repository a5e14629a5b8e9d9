package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// openEntry makes or finds what is collected before the first hop.
func (t *post) openEntry(ctx context.Context) (err error) {
	o := t.s.o
	t.entry, err = inbox.Open(ctx, t.plan, t.instance, inbox.Options{
		Common: o.Common, Rows: t.s.rows, Quota: t.s.quota, Name: t.name, Bearers: o.Bearers, Certificates: o.Certificates,
		Kept: func(ctx context.Context) { t.s.meters.contributions.Add(1) },
	})
	return damaged(err)
}

// damaged says what can be done about what a disk does not give back.
func damaged(err error) error {
	if errors.Is(err, keep.ErrDamaged) {
		err = fmt.Errorf("%w: mend the disk, or go on without what is damaged: --set-aside (docs/damaged-disks.md)", err)
	}
	return err
}

// contribute takes a contribution at the entry of an instance.
func (s *Service) contribute(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	instance, err := wire.PathInstance(r)
	if err != nil {
		return err
	}
	id, err := wire.PathID(r)
	if err != nil {
		return err
	}
	t, err := s.post(hash, instance, 0)
	if err != nil {
		return err
	}
	return t.entry.Take(w, r, id, s.allow)
}

// allow says why a respondent, or everybody together, comes too often.
func (s *Service) allow(respondent serve.Respondent) error {
	if err := s.rates.Allow(respondent); err != nil || s.total == nil {
		return err
	}
	return s.total.Allow(struct{}{})
}

// collected is what becomes of the crowds of an entry's epoch: it is inbox.Crowds.
type collected struct{ *post }

func (c collected) Settled(ctx context.Context) error { return c.settled(ctx) }
func (c collected) Decided(crowd uint32) bool         { return c.state(crowd).Phase != "" }

func (c collected) Withhold(ctx context.Context, crowd uint32) error {
	return c.withhold(ctx, crowd, nil)
}

func (c collected) Mix(ctx context.Context, head envelope.Head, each func(func([]byte) error) error) error {
	return c.mix(ctx, head, each, crowd{})
}

func (c collected) Alone(ctx context.Context, fn func() error) error { return c.alone(ctx, fn) }

// alone runs what holds crowds in memory, one at a time in the whole service.
func (t *post) alone(ctx context.Context, fn func() error) error {
	select {
	case t.s.mixing <- struct{}{}:
		defer func() { <-t.s.mixing }()
		return fn()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withhold destroys a crowd and tells only that.
func (t *post) withhold(ctx context.Context, c uint32, in []byte) error {
	t.s.o.Log.Info("crowd withheld: fewer respondents than the plan's minimum", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c)
	t.s.meters.withheld.Add(1)
	before := t.state(c).Phase
	if err := t.mark(ctx, c, crowd{Phase: withheld, In: in}); err != nil || before == "" { // a crash may have left something: tidy finds it
		return err
	}
	return t.clear(ctx, c)
}
