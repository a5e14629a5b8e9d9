package shufflerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A disk that is put back as it once was would take contributions again for a crowd
// that has left, mix it once more in another order, or lack what was acknowledged. The
// neighbours are asked when the service starts, when it takes up a plan, and before each
// crowd is mixed. Contributions that came after the copy was made are lost.

// errOlder is the error of a folder that is older than what a neighbour has seen.
var errOlder = errors.New("shuffler: the hop's folder or database is an older copy: put it back as it was last, or end the plan (docs/damaged-disks.md)")

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
	var held handover.Held
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

// meet sets the neighbours of a post.
func (t *post) meet() {
	leg := wire.Leg{Plan: t.hash, Instance: uint16(t.instance), Hop: uint8(t.hop)}
	if t.hop > 0 {
		last := t.plan.Route.Instances()[t.instance].Hops[t.hop-1]
		t.before = &registry.Neighbour{Operator: last.Operator, URL: last.URL, Leg: leg}
	}
	leg.Hop++
	t.behind = &registry.Neighbour{Operator: t.next().Operator, URL: t.next().URL, Leg: leg}
}

// compare asks the neighbours about every crowd.
func (t *post) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	_, err := t.behind.Compare(ctx, t.s.o.Client, len(t.crowds), func(c int, held handover.Held) error { return t.sent(uint32(c), held) })
	if err != nil || t.before == nil {
		return err
	}
	_, err = t.before.Compare(ctx, t.s.o.Client, len(t.crowds), func(c int, held handover.Held) error {
		if held.Sent != "" && held.Sent != hexOf(t.state(uint32(c)).In) {
			return fmt.Errorf("%w: %s says that it has handed over the batch of crowd %d, which is not here", errOlder, t.before.Operator, c+1)
		}
		return nil
	})
	return err
}

// compareNext asks whoever takes what this hop has mixed about a crowd.
func (t *post) compareNext(ctx context.Context, c uint32) error {
	held, err := t.behind.Held(ctx, t.s.o.Client, c)
	if err != nil {
		return nil
	}
	return t.sent(c, held)
}

// sent compares what whoever takes what this hop has mixed has of a crowd with what this hop has sent.
func (t *post) sent(c uint32, held handover.Held) error {
	state := t.state(c)
	if state.Lost {
		return nil // it may have left before it was lost
	}
	var sent string
	if state.Phase == mixed || state.Phase == forwarded {
		r, err := relay.ParseReceipt(state.Receipts[len(state.Receipts)-1])
		if err != nil {
			return fmt.Errorf("shuffler: a receipt that was kept: %w", err)
		}
		sent = hexOf(r.BatchOut[:])
	}
	switch {
	case held.Received == "" && state.Phase == forwarded:
		t.s.o.Log.Error("the next one does not know a batch that it acknowledged", "plan", t.plan.Name(), "instance", t.instance, "hop", t.hop, "crowd", c)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forgotten = fmt.Sprintf("%s acknowledged the batch of crowd %d, and does not know it any more: it runs on an older copy of its disk", t.behind.Operator, c+1)
	case held.Received != "" && held.Received != sent && held.Received != hexOf(state.First):
		return fmt.Errorf("%w: %s has a batch of crowd %d that this hop does not know to have sent", errOlder, t.behind.Operator, c+1)
	}
	return nil
}
