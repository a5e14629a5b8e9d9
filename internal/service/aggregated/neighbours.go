package aggregated

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// A database that is put back as it once was has forgotten that it drew noise, and would draw it
// again for a sum of which a share has left. The other aggregator and the analyzer know which share they were given: they are asked when the service starts, when it takes
// up a plan that has opened, and before noise is drawn until all have answered.

// errOlder is the error of a database that is older than what a neighbour has seen.
var errOlder = errors.New("the database is an older copy, which would draw noise again")

// toAnalyzer is the hop of a path that both shares take together.
const toAnalyzer = 2

// held tells what this aggregator knows of the share of a crowd on its way to a hop.
func (s *Service) held(ctx context.Context, c *crowd, hop uint8) (held handover.Held, err error) {
	kept, err := c.of.kept.Share(ctx, c.number, s.leaves())
	if err != nil || kept == nil {
		return held, err
	}
	receipt, err := relay.ParseReceipt(kept[:relay.ReceiptSize])
	if err != nil {
		return held, fmt.Errorf("aggregator: a receipt that was kept: %w", err)
	}
	switch {
	case hop == s.hop()+1:
		held.Sent, held.Tokens = hexOf(receipt.BatchOut), receipt.Tokens
	case hop == s.hop() && s.o.Role == dap.Helper:
		held.Received = hexOf(receipt.BatchIn)
	case hop == toAnalyzer:
		receipt, err = relay.ParseReceipt(kept[relay.ReceiptSize : 2*relay.ReceiptSize])
		held.Sent = hexOf(receipt.BatchOut)
	}
	return held, err
}

func hexOf(digest [32]byte) string { return fmt.Sprintf("%x", digest) }

// drawn gives the digests of the share that this aggregator has drawn of a crowd and of what both
// have handed to the analyzer; "": it has not, or does not know.
func (s *Service) drawn(ctx context.Context, c *crowd) (own, both string, err error) {
	if c.of.kept == nil { // it is new here
		return "", "", nil
	}
	kept, err := c.of.kept.Share(ctx, c.number, rows.Own)
	if err != nil || kept == nil {
		return "", "", err
	}
	receipt, err := relay.ParseReceipt(kept[:relay.ReceiptSize])
	if err != nil {
		return "", "", fmt.Errorf("aggregator: a receipt that was kept: %w", err)
	}
	if own = hexOf(receipt.BatchOut); s.o.Role == dap.Helper {
		return own, own, nil
	}
	held, err := s.held(ctx, c, toAnalyzer)
	return own, held.Sent, err
}

func (s *Service) neighbours(p *served) []*registry.Neighbour {
	on := func(operator, url string, hop uint8) *registry.Neighbour {
		return &registry.Neighbour{Operator: operator, URL: url, Leg: wire.Leg{Plan: p.hash, Hop: hop}}
	}
	route, analyzer := p.plan.Route.Sum, on(p.plan.Analyzer.Operator, p.plan.Analyzer.URL, toAnalyzer)
	if s.o.Role == dap.Leader {
		return []*registry.Neighbour{analyzer, on(route.Helper.Operator, route.Helper.URL, 1)}
	}
	return []*registry.Neighbour{analyzer, on(route.Leader.Operator, route.Leader.URL, toAnalyzer)}
}

// Compare asks the neighbours of every plan which shares they were given.
func (s *Service) Compare(ctx context.Context) error {
	all, _ := s.plans.All()
	if err := registry.CompareAll(all, func(p *served) error { return s.compare(ctx, p) }); err != nil {
		return fmt.Errorf("aggregator: %w: have the publishers withdraw its plans, and begin with a new database (docs/incidents.md)", err)
	}
	return nil
}

// compare asks the neighbours of a plan, until all have answered once.
func (s *Service) compare(ctx context.Context, p *served) error {
	p.mu.Lock()
	compared := p.compared
	p.mu.Unlock()
	if compared {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, serve.AskFor)
	defer cancel()
	compared = true
	for _, n := range s.neighbours(p) {
		reached, err := n.Compare(ctx, s.o.Client, len(p.crowds), func(crowd int, held handover.Held) error { return s.bearsOut(ctx, p.crowds[crowd], n, held) })
		if err != nil {
			return err
		}
		compared = compared && reached
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compared = compared
	return nil
}

// bearsOut compares what a neighbour was given of a crowd with what this aggregator has drawn.
func (s *Service) bearsOut(ctx context.Context, c *crowd, n *registry.Neighbour, held handover.Held) error {
	has := cmp.Or(held.Received, held.Sent)
	if has == "" {
		return nil
	}
	own, both, err := s.drawn(ctx, c)
	if err != nil {
		return err
	}
	if n.Leg.Hop == toAnalyzer {
		own = both
	}
	if has != own {
		return fmt.Errorf("%w: %s has a share of crowd %d of plan %s that is not here", errOlder, n.Operator, c.number+1, c.of.name)
	}
	return nil
}

// drawable says why no noise may be drawn for a crowd; nil also where it was drawn.
func (s *Service) drawable(ctx context.Context, c *crowd) error {
	if kept, err := c.of.kept.Share(ctx, c.number, rows.Own); err != nil || kept != nil {
		return err
	}
	return s.compare(ctx, c.of)
}
