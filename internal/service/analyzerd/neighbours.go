package analyzerd

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
)

// A database that is put back as it once was lacks batches that were acknowledged,
// and that the hops have deleted. The last hops know what they handed over, and are asked
// when the service starts and before a verdict. Plans that the copy lacks are not found.

// errOlder is the error of a database that is older than what a hop has seen.
var errOlder = errors.New("analyzer: the database is an older copy: restore a newer one (docs/damaged-disks.md)")

// getHeld answers which batch was counted.
func (s *Service) getHeld(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	digest, there, err := s.o.Store.Digest(r.Context(), nameOf(leg.Plan), int(leg.Instance), int(leg.Crowd))
	if err != nil {
		return storeProblem(err)
	}
	if !there {
		p, err := s.o.Store.Plan(r.Context(), nameOf(leg.Plan))
		if err != nil {
			return storeProblem(err)
		}
		if !p.Decided.IsZero() || p.Withdrawn { // its batches may have been deleted
			return wire.Problemf(wire.EpochOver, "the collection is over")
		}
		return serve.WriteJSON(w, handover.Held{})
	}
	return serve.WriteJSON(w, handover.Held{Received: fmt.Sprintf("%x", digest)})
}

// Compare reads what there is of every open plan and asks its last hops what they
// handed over. errOlder: it is not here. A hop that is out of reach says nothing.
func (s *Service) Compare(ctx context.Context) error {
	plans, err := s.o.Store.Plans(ctx)
	if err != nil {
		return err
	}
	return registry.CompareAll(plans, func(p rows.Plan) error {
		if !p.Decided.IsZero() || p.Withdrawn {
			return nil
		}
		if err := s.o.Store.CheckPlan(ctx, p.Name); err != nil {
			return err
		}
		return s.compare(ctx, p.Name)
	})
}

func (s *Service) compare(ctx context.Context, name string) error {
	run, err := s.run(ctx, name)
	if errors.Is(err, keep.ErrDamaged) {
		return err
	}
	if err != nil {
		return nil // whatever it is, it is said where the plan is served
	}
	asked, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	p := run.signed.Plan
	for i, in := range p.Route.Instances() {
		hop := in.Hops[len(in.Hops)-1]
		last := registry.Neighbour{Operator: hop.Operator, URL: hop.URL, Leg: wire.Leg{Plan: p.Hash(), Instance: uint16(i), Hop: uint8(len(in.Hops))}}
		if _, err := last.Compare(asked, s.o.Client, p.Crowds(), func(crowd int, held handover.Held) error {
			if held.Sent == "" {
				return nil
			}
			digest, there, err := s.o.Store.Digest(ctx, name, i, crowd)
			if err == nil && (!there || fmt.Sprintf("%x", digest) != held.Sent) {
				err = fmt.Errorf("%w: plan %s: %s has handed over a batch of crowd %d of instance %d, which is not here", errOlder, name, last.Operator, crowd+1, i+1)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
