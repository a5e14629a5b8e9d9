package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A disk that is put back as it once was would take contributions again for a crowd
// that has left, mix it once more in another order, or lack what was acknowledged.
// Nothing on it can tell. The services before and behind know what they handed over
// and took, and are asked when the service starts, when it takes up a plan, and
// before each crowd is mixed. What only this hop knew, such as contributions that
// came after the copy was made, nobody can tell it.

// errOlder is the error of a folder that is older than what a neighbour has seen.
var errOlder = errors.New("shuffler: the queue's folder is an older copy: put it back as it was last, or end the plan (docs/damaged-disks.md)")

// showHeld answers what this operator took and sent of a leg.
func (s *Service) showHeld(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	p, ok := s.plans.Find(leg.Plan)
	if !ok {
		return wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", leg.Plan[:4])
	}
	var held relay.Held
	for _, t := range p.posts {
		if t.instance != int(leg.Instance) || int64(leg.Crowd) >= int64(len(t.crowds)) {
			continue
		}
		state := t.state(leg.Crowd)
		if t.hop == int(leg.Hop) && state.Phase != arriving {
			held.Received = hexOf(state.In)
		}
		if t.hop+1 == int(leg.Hop) && state.Phase == forwarded {
			r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
			if err != nil {
				return fmt.Errorf("shuffler: a receipt that was kept: %w", err)
			}
			held.Sent, held.Tokens = hexOf(r.BatchOut[:]), r.Tokens
		}
	}
	return serve.WriteJSON(w, held)
}

func hexOf(b []byte) string { return fmt.Sprintf("%x", b) }

// compare asks the neighbours about every crowd. One that is out of reach, or does
// not answer in time, says nothing.
func (t *post) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	hops := t.plan.Route.Instances()[t.instance].Hops
	before := t.hop > 0
	behind := true
	for c := range uint32(len(t.crowds)) {
		if behind {
			answered, err := t.compareNext(ctx, c)
			if err != nil {
				return err
			}
			behind = answered
		}
		if before {
			held, err := t.ask(ctx, hops[t.hop-1].URL, t.hop, c)
			if err == nil && held.Sent != "" && held.Sent != hexOf(t.state(c).In) {
				return fmt.Errorf("%w: %s says that it has handed over the batch of crowd %d, which is not here", errOlder, hops[t.hop-1].Operator, c+1)
			}
			before = err == nil
		}
	}
	return nil
}

// compareNext asks whoever takes what this hop has mixed about a crowd.
func (t *post) compareNext(ctx context.Context, c uint32) (answered bool, err error) {
	state := t.state(c)
	if state.Lost {
		return true, nil // it may have left before it was lost
	}
	held, err := t.ask(ctx, t.next().URL, t.hop+1, c)
	if err != nil {
		return false, nil
	}
	var sent string
	if state.Phase == mixed || state.Phase == forwarded {
		r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
		if err != nil {
			return true, fmt.Errorf("shuffler: a receipt that was kept: %w", err)
		}
		sent = hexOf(r.BatchOut[:])
	}
	switch {
	case held.Received == "" && state.Phase == forwarded:
		t.s.o.Log.Error("the next one does not know a batch that it acknowledged", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forgotten = fmt.Sprintf("%s acknowledged the batch of crowd %d, and does not know it any more: it runs on an older copy of its disk", t.next().Operator, c+1)
	case held.Received != "" && held.Received != sent && held.Received != hexOf(state.First):
		return true, fmt.Errorf("%w: %s has a batch of crowd %d that this hop does not know to have sent", errOlder, t.next().Operator, c+1)
	}
	return true, nil
}

// silence is how long one that was out of reach is not asked again.
const silence = time.Minute

// ask asks a neighbour what it knows of the batch of a crowd on its way to a hop.
func (t *post) ask(ctx context.Context, url string, hop int, c uint32) (relay.Held, error) {
	t.mu.Lock()
	silent := url == "" || time.Since(t.silent[url]) < silence
	t.mu.Unlock()
	if silent {
		return relay.Held{}, errors.New("shuffler: it was out of reach a moment ago")
	}
	ctx, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	held, err := serve.AskHeld(ctx, t.s.o.Client, url, wire.Leg{Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(hop), Crowd: c})
	if _, answered := errors.AsType[*wire.Problem](err); err != nil && !answered {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.silent[url] = time.Now()
	}
	return held, err
}
