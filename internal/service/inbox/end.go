package inbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Crowds are what becomes of the crowds of an epoch that is over.
type Crowds interface {
	// Settled says why the time of day is not reason enough to end the epoch.
	Settled(context.Context) error
	// Decided says that Withhold or Mix has returned for a crowd, in this process or an
	// earlier one: that lasts, and nothing more is read of it.
	Decided(crowd uint32) bool
	// Withhold destroys a crowd of too few.
	Withhold(ctx context.Context, crowd uint32) error
	// Mix takes those of a crowd who stay, in the order in which they came: each gives
	// their contributions, sealed, as often as it is called. The head says of how many
	// respondents, and what is in them.
	Mix(ctx context.Context, head envelope.Head, each func(func(contribution []byte) error) error) error
	// Alone runs what holds crowds in memory.
	Alone(context.Context, func() error) error
}

// Close marks the epoch as over, for good. One caller at a time.
func (e *Epoch) Close(ctx context.Context) error {
	m := e.Mark()
	if m.Closed {
		return nil
	}
	m.Closed = true
	return e.keepMark(ctx, m)
}

// End carries the epoch from its end to an empty inbox: every crowd mixed or destroyed,
// and order, times and identities gone from the disk. Nothing leaves before. It reports
// whether this is done, and is called again where it is not. One caller at a time.
func (e *Epoch) End(ctx context.Context, crowds Crowds, together int) (done bool, err error) {
	m := e.Mark()
	if m.Purged {
		err := e.empty(ctx)
		return err == nil, err
	}
	if !m.Closed {
		if e.o.Now().Before(e.plan.Times.Closes) {
			return false, nil
		}
		if err := crowds.Settled(ctx); err != nil {
			return false, err
		}
		if err := e.Close(ctx); err != nil {
			return false, err
		}
	}
	if err := e.o.Failpoint("epoch-marked"); err != nil {
		return false, err
	}
	if err := e.shelf().Seal(ctx); err != nil {
		return false, err
	}
	if err := e.o.Failpoint("epoch-sealed"); err != nil {
		return false, err
	}
	if err := e.endCrowds(ctx, crowds, together); errors.Is(err, keep.ErrDamaged) {
		if fault := e.setAside(ctx, err); fault != nil && !errors.Is(fault, err) {
			err = errors.Join(err, fault)
		}
		return false, err
	} else if err != nil {
		return false, err
	}
	if err := e.keepMark(ctx, Mark{Closed: true, Purged: true, Lost: e.Lost(ctx)}); err != nil {
		return false, err
	}
	if err := e.o.Failpoint("epoch-mixed"); err != nil {
		return false, err
	}
	err = e.empty(ctx)
	return err == nil, err
}

// setAside goes on without what is damaged: nothing more comes in, and what can be read is all that
// there will be. The log says of which crowds it was, where that is no secret.
func (e *Epoch) setAside(ctx context.Context, why error) error {
	before := make([]int, e.rules.Crowds)
	for c := range before {
		before[c] = e.Count(ctx, uint32(c))
	}
	shelf, err := e.o.Rows.SetAside(ctx, ShelfName(e.o.Name))
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.inbox = shelf
	e.mu.Unlock()
	var crowds []string
	for c, n := range before {
		if e.Count(ctx, uint32(c)) < n {
			crowds = append(crowds, strconv.Itoa(c+1))
		}
	}
	of := cmp.Or(strings.Join(crowds, ", "), "unknown")
	if e.plan.Crowd.Deletion != nil {
		of = "private"
	}
	e.o.Log.Error("contributions are damaged on disk, and are set aside: what is whole goes on; look at the disk", "plan", e.plan.Name(), "instance", e.rules.Instance, "crowds", of, "error", why.Error())
	return nil
}

// empty drops the inbox, with the secret and all cover. The mark that it is not needed any
// more comes before.
func (e *Epoch) empty(ctx context.Context) error {
	e.mu.Lock()
	emptied := e.emptied
	e.mu.Unlock()
	if emptied {
		return nil
	}
	if err := e.o.Rows.Forget(ctx, ShelfName(e.o.Name)); err != nil {
		return err
	}
	if err := e.o.Failpoint("inbox-purged"); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.covers)
	e.emptied = true
	return nil
}

// Together is how many bytes of contributions are read in one pass of the inbox,
// or one crowd if it has more. A pass for each of many small crowds would read
// the whole inbox so many times.
const Together = 64 << 20

// drawn is a crowd of which it is known who stays, on its way out.
type drawn struct {
	kept   []bool // by order of arrival
	seen   int
	head   envelope.Head
	bodies [][]byte // in memory, unless the crowd goes alone
}

// endCrowds deletes at random where the plan says so, and mixes or destroys what
// is left of every crowd that an earlier process has not.
func (e *Epoch) endCrowds(ctx context.Context, crowds Crowds, together int) error {
	pass, bytes := map[uint32]*drawn{}, 0
	flush := func() error {
		defer func() { pass, bytes = map[uint32]*drawn{}, 0 }()
		return crowds.Alone(ctx, func() error { return e.mixDrawn(ctx, crowds, pass) })
	}
	for c := range uint32(e.rules.Crowds) {
		if crowds.Decided(c) {
			continue
		}
		kept, respondents, err := e.survivors(ctx, c)
		if errors.Is(err, admission.ErrWithheld) {
			if err = crowds.Withhold(ctx, c); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		size := respondents * e.rules.Bytes()
		if len(pass) > 0 && bytes+size > together {
			if err := flush(); err != nil {
				return err
			}
		}
		bytes += size
		pass[c] = &drawn{kept: kept, head: e.rules.Head(c, respondents)}
	}
	return flush()
}

// survivors draws who stays of a crowd.
func (e *Epoch) survivors(ctx context.Context, c uint32) (kept []bool, respondents int, err error) {
	n, err := e.shelf().Count(ctx, contributions, c)
	if err != nil {
		return nil, 0, err
	}
	return e.rules.Survivors(rng.New(), n)
}

// mixDrawn reads the crowds of one pass and hands them on, one after the other. One that
// is alone in its pass is never in memory as a whole.
func (e *Epoch) mixDrawn(ctx context.Context, crowds Crowds, pass map[uint32]*drawn) error {
	switch len(pass) {
	case 0:
		return nil
	case 1:
		for _, d := range pass {
			return crowds.Mix(ctx, d.head, func(take func([]byte) error) error {
				d.seen = 0
				return e.readDrawn(ctx, pass, func(_ *drawn, body []byte) error { return take(body) })
			})
		}
	}
	err := e.readDrawn(ctx, pass, func(d *drawn, body []byte) error {
		d.bodies = append(d.bodies, body)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range slices.Sorted(maps.Keys(pass)) {
		d := pass[c]
		err := crowds.Mix(ctx, d.head, func(take func([]byte) error) error {
			for _, one := range d.bodies {
				if err := take(one); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		delete(pass, c)
	}
	return nil
}

// readDrawn gives each contribution that stays, whose it is to keep.
func (e *Epoch) readDrawn(ctx context.Context, pass map[uint32]*drawn, take func(*drawn, []byte) error) error {
	err := e.shelf().InOrder(ctx, contributions, func(_ string, value []byte) error {
		if len(value) < tagBytes {
			return fmt.Errorf("%w: a contribution without a tag", keep.ErrDamaged)
		}
		tag, body := binary.BigEndian.Uint32(value), value[tagBytes:]
		d := pass[tag]
		if d == nil {
			return nil
		}
		if d.seen++; d.seen > len(d.kept) || !d.kept[d.seen-1] {
			return nil
		}
		return take(d, bytes.Clone(body))
	})
	if err != nil {
		return err
	}
	for _, d := range pass {
		if d.seen != len(d.kept) {
			return errors.New("inbox: an inbox changed after it was sealed")
		}
	}
	return nil
}
