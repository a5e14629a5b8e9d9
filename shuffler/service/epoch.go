package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/shuffler"
)

// close marks the epoch as over. The caller holds working.
func (t *post) close(ctx context.Context) error {
	e := t.epochNow()
	if e.Closed {
		return nil
	}
	e.Closed = true
	return t.markEpoch(ctx, e)
}

// endEpoch carries an entry from the end of its epoch to an empty inbox: every
// crowd mixed or destroyed, and order, times and identities gone from the disk.
// Nothing leaves before. It reports whether this is done.
func (t *post) endEpoch(ctx context.Context) (done bool, err error) {
	e := t.epochNow()
	if e.Purged {
		return true, nil
	}
	if !e.Closed {
		if t.s.o.Now().Before(t.plan.Times.Closes) {
			return false, nil
		}
		if err := t.close(ctx); err != nil {
			return false, err
		}
	}
	if err := t.s.o.Failpoint("epoch-marked"); err != nil {
		return false, err
	}
	if err := t.inbox.Seal(ctx); err != nil {
		return false, err
	}
	if err := t.s.o.Failpoint("epoch-sealed"); err != nil {
		return false, err
	}
	for c := range uint32(len(t.crowds)) {
		if t.state(c).Phase != "" {
			continue
		}
		if err := t.endCrowd(ctx, c); err != nil {
			return false, err
		}
	}
	if err := t.s.o.Queue.Drop(ctx, t.inName()); err != nil {
		return false, err
	}
	if err := t.s.o.Failpoint("inbox-purged"); err != nil {
		return false, err
	}
	return true, t.markEpoch(ctx, epoch{Closed: true, Purged: true, revision: t.epochNow().revision})
}

// endCrowd deletes at random where the plan says so, and mixes or destroys the rest.
func (t *post) endCrowd(ctx context.Context, c uint32) error {
	label := fmt.Sprint(c)
	n, err := t.inbox.Count(ctx, label)
	if err != nil {
		return err
	}
	kept, respondents, err := t.entry.Survivors(rng.New(), n)
	if errors.Is(err, shuffler.ErrWithheld) {
		return t.withhold(ctx, c, nil)
	}
	if err != nil {
		return err
	}
	return t.alone(ctx, func() error {
		b := envelope.Batch{Plan: t.hash, Instance: uint16(t.instance), Crowd: c, Respondents: uint32(respondents)}
		i := 0
		err := t.inbox.Each(ctx, label, func(_ string, body []byte) error {
			i++
			if i > n {
				return errors.New("service: an inbox grew after it was sealed")
			}
			if !kept[i-1] {
				return nil
			}
			one, err := envelope.ParseContribution(body)
			b.Envelopes = append(b.Envelopes, one.Envelopes...)
			return err
		})
		if err != nil {
			return err
		}
		return t.mix(ctx, b, crowd{})
	})
}

// alone runs what holds a crowd in memory, one at a time in the whole service.
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
	t.s.meters.withheld.Add(ctx, 1)
	return t.mark(ctx, c, crowd{Phase: withheld, In: in})
}
