package service

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/intake"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/rng"
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
		if err := t.settled(ctx); err != nil {
			return false, err
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
	if err := t.endCrowds(ctx); errors.Is(err, queue.ErrDamaged) {
		// Nothing more comes in: what can be read is all that there will be.
		t.s.o.Log.Error("contributions are damaged on disk, and are set aside", "plan", t.plan.Name(), "instance", t.instance, "error", err.Error())
		return false, errors.Join(err, t.inbox.SetAside(ctx))
	} else if err != nil {
		return false, err
	}
	lost := t.lost()
	if err := t.s.o.Queue.Drop(ctx, t.inName()); err != nil { // with the secret and all cover
		return false, err
	}
	if err := t.s.o.Failpoint("inbox-purged"); err != nil {
		return false, err
	}
	t.mu.Lock()
	clear(t.covers)
	t.mu.Unlock()
	return true, t.markEpoch(ctx, epoch{Closed: true, Purged: true, Lost: lost, revision: t.epochNow().revision})
}

// drawn is a crowd of which it is known who stays, on its way into memory.
type drawn struct {
	kept  []bool // by order of arrival
	seen  int
	batch envelope.Batch
}

// together is how many bytes of contributions are read in one pass of the inbox,
// or one crowd if it has more. A pass for each of many small crowds would read
// the whole inbox so many times.
const together = 64 << 20

// endCrowds deletes at random where the plan says so, and mixes or destroys what
// is left of every crowd that an earlier process has not.
func (t *post) endCrowds(ctx context.Context) error {
	pass, bytes := map[uint32]*drawn{}, 0
	flush := func() error {
		defer func() { pass, bytes = map[uint32]*drawn{}, 0 }()
		return t.alone(ctx, func() error { return t.mixDrawn(ctx, pass) })
	}
	for c := range uint32(len(t.crowds)) {
		if t.state(c).Phase != "" {
			continue
		}
		n := t.inbox.Count(c)
		kept, respondents, err := t.entry.Survivors(rng.New(), n)
		if errors.Is(err, intake.ErrWithheld) {
			err = t.withhold(ctx, c, nil)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		size := respondents * t.entry.ContributionSize()
		if len(pass) > 0 && bytes+size > t.s.together {
			if err := flush(); err != nil {
				return err
			}
		}
		bytes += size
		pass[c] = &drawn{kept: kept, batch: envelope.Batch{Plan: t.hash, Instance: uint16(t.instance), Crowd: c, Respondents: uint32(respondents)}}
	}
	return flush()
}

// mixDrawn reads the crowds of one pass and mixes them, one after the other.
func (t *post) mixDrawn(ctx context.Context, pass map[uint32]*drawn) error {
	if len(pass) == 0 {
		return nil
	}
	err := t.inbox.Each(ctx, func(_ [16]byte, label uint32, body []byte) error {
		d := pass[label]
		if d == nil {
			return nil
		}
		if d.seen++; d.seen > len(d.kept) || !d.kept[d.seen-1] {
			return nil
		}
		one, err := envelope.ParseContribution(bytes.Clone(body))
		if err != nil {
			return err
		}
		d.batch.Envelopes = append(d.batch.Envelopes, one.Envelopes...)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range slices.Sorted(maps.Keys(pass)) {
		d := pass[c]
		if d.seen != len(d.kept) {
			return errors.New("service: an inbox changed after it was sealed")
		}
		if err := t.mix(ctx, d.batch, crowd{}); err != nil {
			return err
		}
		delete(pass, c)
	}
	return nil
}

// lost is how many contributions were damaged on disk and set aside.
func (t *post) lost() uint64 {
	if e := t.epochNow(); t.inbox == nil || e.Purged {
		return e.Lost
	}
	contents, gaps := t.inbox.Aside()
	return max(contents, uint64(min(gaps, 1))) // at least one, whatever can be known
}

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
	t.s.meters.withheld.Add(ctx, 1)
	return t.mark(ctx, c, crowd{Phase: withheld, In: in})
}
