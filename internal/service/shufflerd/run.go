package shufflerd

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
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
	defer t.resign()
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

// resign lets another process go on at once.
func (t *post) resign() {
	if t.s.worker == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), poll)
	defer cancel()
	if err := t.s.worker.steps.Resign(ctx, t.name); err != nil {
		t.s.o.Log.Warn("another process goes on when a lease is over", "plan", t.plan.Name(), "error", err.Error())
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
		if errors.Is(err, mixer.ErrElsewhere) {
			failed = "waits: the store has nothing of a crowd that was laid out there"
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

// advance does what is due for the post, unless another process does.
func (t *post) advance(ctx context.Context) error {
	t.working.Lock()
	defer t.working.Unlock()
	if t.s.worker == nil {
		return t.carryOn(ctx)
	}
	led, err := t.s.worker.steps.Lead(ctx, t.name, func(ctx context.Context) error {
		if err := t.follow(ctx); err != nil {
			return err
		}
		return t.carryOn(ctx)
	})
	if err == nil && !led {
		err = t.follow(ctx)
	}
	return err
}

// follow takes up the marks that another process has written.
func (t *post) follow(ctx context.Context) error {
	if err := t.refresh(ctx); err != nil || t.entry == nil {
		return err
	}
	return t.entry.Follow(ctx)
}

// carryOn does what is due for the post. The caller holds working.
func (t *post) carryOn(ctx context.Context) error {
	if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn {
		return t.destroy(ctx)
	}
	if t.s.plans.Past(t.plan) {
		if err := t.settled(ctx); err != nil {
			return err
		}
		if err := t.s.end(ctx, t.hash); err != nil {
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

// tidy deletes what a crash or a failure left behind a mark. Where processes share the store, what
// is there of a crowd may be what another one writes, until the mark says that it comes too late.
func (t *post) tidy(ctx context.Context) error {
	left, err := t.left(ctx)
	if err != nil {
		return err
	}
	for _, c := range slices.Sorted(maps.Keys(left)) {
		if !t.claim(c) {
			continue // it is coming in
		}
		err := t.tidyCrowd(ctx, c, left[c])
		t.release(c)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *post) tidyCrowd(ctx context.Context, c uint32, attempts map[string]string) error {
	state := t.state(c)
	if state.Phase == forwarded || state.Phase == withheld {
		return t.clear(ctx, c)
	}
	late := map[string]bool{ // kinds of which nobody needs another attempt
		inKind: state.Phase == laidOut || state.Phase == mixed, partsKind: state.Phase == mixed,
	}
	for under, kind := range attempts {
		live := kind == partsKind && state.Laid != nil && under == state.Laid.Under ||
			kind == inKind && state.Phase == received && under == t.folder(inKind, c)+"/"+state.Box ||
			kind == outKind && state.Phase == mixed && under == t.folder(outKind, c)+"/"+state.Box
		if live || t.s.worker != nil && !late[kind] {
			continue
		}
		if err := t.s.o.Blobs.Delete(ctx, under); err != nil {
			return err
		}
	}
	return nil
}

const partsKind = "parts"

// left returns the crowds of which a key or a body is there, with what the names of each body
// begin with, and its kind.
func (t *post) left(ctx context.Context) (map[uint32]map[string]string, error) {
	names, err := t.s.rows.List(ctx)
	if err != nil {
		return nil, err
	}
	blobs, err := t.s.o.Blobs.List(ctx, t.name)
	if err != nil {
		return nil, err
	}
	left := map[uint32]map[string]string{}
	of := func(number string) map[string]string {
		c, err := strconv.ParseUint(number, 10, 32)
		if err != nil || c >= uint64(len(t.crowds)) {
			return nil
		}
		if left[uint32(c)] == nil {
			left[uint32(c)] = map[string]string{}
		}
		return left[uint32(c)]
	}
	for _, name := range names {
		if number, ours := rows.CrowdOfShelf(name, t.name); ours {
			of(number)
		}
	}
	for _, name := range blobs {
		kind, parts := partsKind, strings.Split(name, "/")
		if len(parts) > 3 && (parts[1] == inKind || parts[1] == outKind) {
			kind = parts[1]
		}
		number, attempt := 1, 2
		if kind != partsKind {
			number, attempt = 2, 3
		}
		if len(parts) <= attempt+1 {
			continue
		}
		if crowd := of(parts[number]); crowd != nil {
			crowd[strings.Join(parts[:attempt+1], "/")] = kind
		}
	}
	return left, nil
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
