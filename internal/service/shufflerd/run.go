package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

func (t *post) poke() {
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// run advances whenever there may be something to do.
func (t *post) run(ctx context.Context) {
	r := rng.New()
	failures := 0
	for ctx.Err() == nil {
		wait := poll
		if err := t.advance(ctx); err != nil {
			t.note(err)
			wait = backoff(r, failures, err)
			failures++
		} else {
			t.note(nil)
			failures = 0
		}
		if _, served := t.s.plans.Find(t.hash); !served {
			return
		}
		select {
		case <-ctx.Done():
		case <-t.woken:
		case <-time.After(wait):
		}
	}
}

// note keeps what failed for the status, in words that name nobody, and writes
// it to the log.
func (t *post) note(err error) {
	failed := ""
	if err != nil && !errors.Is(err, context.Canceled) {
		failed = string(web.AsProblem(err).Code)
		if peer, ok := errors.AsType[*peerError](err); ok {
			failed = peer.operator + " " + peer.what
		}
		if unsettled, ok := errors.AsType[*clock.Unsettled](err); ok {
			failed = "waits: " + unsettled.Error()
		}
		t.s.o.Log.Warn("not done, will be tried again", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "error", err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed = failed
}

const (
	firstBackoff = 200 * time.Millisecond
	lastBackoff  = time.Minute
)

// backoff doubles from failure to failure, spread over half to all of it so that
// hops that failed together do not return together, and is no shorter than the
// peer asked for.
func backoff(r *rand.Rand, failures int, err error) time.Duration {
	d := min(firstBackoff<<min(failures, 20), lastBackoff)
	d = d/2 + time.Duration(r.Int64N(int64(d/2)))
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		d = max(d, min(p.RetryAfter, lastBackoff))
	}
	return d
}

// advance does what is due for the post.
func (t *post) advance(ctx context.Context) error {
	t.working.Lock()
	defer t.working.Unlock()
	if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
		return t.destroy(ctx)
	}
	if t.s.plans.Past(t.plan) {
		if err := t.settled(ctx); err != nil {
			return err
		}
		if err := t.erase(ctx); err != nil {
			return err
		}
		return t.s.forget(ctx, t.hash)
	}
	if p, served := t.s.plans.Find(t.hash); served && t.s.plans.Suspended(p.hash) != nil {
		return nil
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	if t.hop == 0 {
		if done, err := t.entry.End(ctx, collected{t}, t.s.together); !done || err != nil {
			return err
		}
	}
	if t.untidy {
		if err := t.tidy(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for c := range uint32(len(t.crowds)) {
		if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
			break // it came meanwhile: nothing more leaves
		}
		if err := t.carry(ctx, c); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
	}
	t.untidy = len(errs) > 0
	return errors.Join(errs...)
}

// tidy drops the boxes that a crash or a failure left behind a mark.
func (t *post) tidy(ctx context.Context) error {
	if err := t.tidyBlobs(ctx); err != nil {
		return err
	}
	for begin, needed := range map[string]phase{"in_" + t.name + "_": received, "out_" + t.name + "_": mixed} {
		names, err := t.s.o.Queue.Boxes(ctx, begin)
		if err != nil {
			return err
		}
		for _, name := range names {
			c, err := strconv.ParseUint(name[len(begin):], 10, 32)
			if err != nil || c >= uint64(len(t.crowds)) {
				return fmt.Errorf("shuffler: the box %s is none of ours", name)
			}
			if !t.claim(uint32(c)) {
				continue // it is coming in
			}
			if t.state(uint32(c)).Phase != needed {
				err = t.s.o.Queue.Drop(ctx, name)
			}
			t.release(uint32(c))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// claim keeps others from a crowd's inbox; false: somebody has it.
func (t *post) claim(c uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.busy[c] {
		return false
	}
	t.busy[c] = true
	return true
}

func (t *post) release(c uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.busy, c)
}

// carry takes one crowd as far as it goes.
func (t *post) carry(ctx context.Context, c uint32) error {
	if t.state(c).Phase == received {
		if err := t.mixReceived(ctx, c); err != nil {
			return err
		}
	}
	if t.state(c).Phase == laidOut {
		if err := t.mixLaid(ctx, c); err != nil {
			return err
		}
	}
	if t.state(c).Phase == mixed {
		// Mixing may have taken long: whoever signed the plan has to be trusted still.
		if p, served := t.s.plans.Find(t.hash); served && t.s.plans.Suspended(p.hash) != nil {
			return nil
		}
		return t.forward(ctx, c)
	}
	return nil
}

// erase deletes all that is left of the post.
func (t *post) erase(ctx context.Context) error {
	for c := range uint32(len(t.crowds)) {
		if phase := t.state(c).Phase; phase == received || phase == laidOut || phase == mixed {
			t.s.o.Log.Error("a batch is deleted that nobody has taken: the retention is over", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c)
		}
	}
	if err := t.s.erase(ctx, t.name); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erased = true
	return nil
}
