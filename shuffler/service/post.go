package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/intake"
	"github.com/confetti-dp/confetti/internal/queue"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/shuffler"
)

// Failpoints are the steps that Options.Failpoint is called at, each before the
// next thing that lasts. Between "X" and its mark a crash must lose nothing and
// let nothing leave twice. Withdraw calls it at "withdrawn", when that is on disk and
// nothing is destroyed yet.
var Failpoints = []string{
	"contribution-kept", // on disk, not acknowledged
	"epoch-marked",      // closed for good, contributions may still be on their way in
	"epoch-sealed",      // no more can come in
	"batch-chunks-kept", // of a batch that comes in; not yet marked as here
	"batch-kept",        // marked, not acknowledged
	"outbox-written",    // mixed and on disk, not yet marked
	"mixed",             // marked, what came in still there
	"inbox-purged",      // what came in is gone
	"next-acknowledged", // the next hop has it, not yet marked
	"forwarded",         // marked, the outbox still there
	"outbox-purged",
}

// post is one hop of one instance of a plan.
type post struct {
	s             *Service
	name          string // of the post, unique, in boxes and records
	plan          plan.Plan
	hash          [32]byte
	instance, hop int
	key           envelope.PrivateKey
	sign          wire.SignKey
	receiptKeys   []wire.VerifyKey // of all hops of the instance
	tokens        token.PublicKey  // entry: that respondents must bear; the zero key: none
	entry         intake.Rules
	inbox         *queue.Inbox // entry, until it is purged
	secret        serve.Secret // likewise: respondents are known by a hash under it

	woken   chan struct{}
	working sync.Mutex // held by whoever advances
	untidy  bool       // boxes may be there that nobody needs

	mu        sync.Mutex
	epoch     epoch // entry
	crowds    []crowd
	spent     map[uint32][]shuffler.TokenID
	busy      map[uint32]bool          // crowds whose inbox somebody has claimed
	covers    map[serve.Respondent]int // entry: kept in this run, of each respondent who sent any
	silent    map[string]time.Time     // since when, of neighbours that were out of reach
	forgotten string                   // what the next one acknowledged and does not know any more
	failed    string                   // what went wrong last, for the operator
	refusals  map[uint32]refusal       // of crowds\' batches by the next one
	ended     bool                     // the plan is withdrawn
	erased    bool                     // nothing is left, after the retention or a withdrawal
}

func (s *Service) newPost(ctx context.Context, p plan.Plan, instance, hop int, key envelope.PrivateKey, keys keys) (*post, error) {
	hops := p.Route.Mix.Instances[instance].Hops
	hash := p.Hash()
	t := &post{
		s: s, name: postName(hash, instance, hop), plan: p, hash: hash, instance: instance, hop: hop, key: key,
		woken: make(chan struct{}, 1), untidy: true, crowds: make([]crowd, p.Crowds()),
		spent: map[uint32][]shuffler.TokenID{}, busy: map[uint32]bool{}, refusals: map[uint32]refusal{}, silent: map[string]time.Time{}, covers: map[serve.Respondent]int{},
	}
	for h, party := range hops {
		// Without receipts anybody could take a crowd's place with a batch of nothing.
		k, err := wire.ParseVerifyKey(party.Receipts)
		if err != nil {
			return nil, refused(fmt.Sprintf("hop %d of instance %d needs a key for its receipts", h+1, instance+1))
		}
		t.receiptKeys = append(t.receiptKeys, k)
	}
	sign, ok := keys.sign[hops[hop].Receipts]
	if !ok {
		return nil, refused(fmt.Sprintf("the private key of the receipts of hop %d of instance %d is not here", hop+1, instance+1))
	}
	t.sign = sign
	if t.next().URL == "" {
		return nil, refused("it does not say where " + t.next().Operator + " listens")
	}
	if _, err := t.mixer(); err != nil {
		return nil, err
	}
	if err := t.restore(ctx); err != nil {
		return nil, err
	}
	if err := t.compare(ctx); err != nil {
		return nil, err
	}
	if hop == 0 {
		return t, t.openEntry(ctx)
	}
	return t, nil
}

// next is who gets what this hop has mixed.
func (t *post) next() plan.Party {
	hops := t.plan.Route.Mix.Instances[t.instance].Hops
	if t.hop+1 < len(hops) {
		return hops[t.hop+1]
	}
	return t.plan.Analyzer
}

// demandsTokens reports whether tokens come inside this hop's layer.
func (t *post) demandsTokens() bool { return t.plan.Slots(t.instance)[t.hop] > 0 }

// mixer is a hop that knows what has left. One serves for one crowd: after a
// failure to write it would take the crowd for one that has left.
func (t *post) mixer() (*shuffler.Hop, error) {
	h, err := shuffler.NewHop(t.plan, t.instance, t.hop, t.key)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for c, state := range t.crowds {
		if state.Phase == mixed || state.Phase == forwarded {
			h.Restore(uint32(c), t.spent[uint32(c)])
		}
	}
	return h, nil
}

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
		if _, served := t.s.plan(t.hash); !served {
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
		failed = string(wire.AsProblem(err).Code)
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
	if t.s.over(t.plan) {
		if err := t.settled(ctx); err != nil {
			return err
		}
		if err := t.erase(ctx); err != nil {
			return err
		}
		return t.s.forget(ctx, t.hash)
	}
	if p, served := t.s.plan(t.hash); served && t.s.suspended(p) != nil {
		return nil
	}
	if t.hop == 0 {
		if done, err := t.endEpoch(ctx); !done || err != nil {
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
	for begin, needed := range map[string]phase{"in_" + t.name + "_": received, "out_" + t.name + "_": mixed} {
		names, err := t.s.o.Queue.Boxes(ctx, begin)
		if err != nil {
			return err
		}
		for _, name := range names {
			c, err := strconv.ParseUint(name[len(begin):], 10, 32)
			if err != nil || c >= uint64(len(t.crowds)) {
				return fmt.Errorf("service: the box %s is none of ours", name)
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
	if t.state(c).Phase == mixed {
		return t.forward(ctx, c)
	}
	return nil
}

// erase deletes all that is left of the post.
func (t *post) erase(ctx context.Context) error {
	for c := range uint32(len(t.crowds)) {
		if phase := t.state(c).Phase; phase == received || phase == mixed {
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
