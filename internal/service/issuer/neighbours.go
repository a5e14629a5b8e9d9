package issuer

import (
	"context"
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
)

// A folder that is put back as it once was does not know who came since, and would
// give them second tokens. Hops say how many tokens they have
// counted for the crowds that they have handed over; more than were ever signed shows
// an older copy. Tokens that nobody has spent yet, or whose crowd has not left, show
// nothing.

// errOlder is the error of a folder that is older than what hops have seen.
var errOlder = errors.New("issuer: the folder is an older copy, and respondents could be given a second token: " + lostMarks)

// compare asks the hops of every plan how many tokens they have counted.
func (s *Service) compare() error {
	ctx, cancel := context.WithTimeout(context.Background(), serve.AskFor)
	defer cancel()
	return registry.CompareAll(s.sorted(), func(p *served) error {
		if spent := s.spent(ctx, p); spent > p.marks.count() {
			return fmt.Errorf("%w: plan %s: hops have counted %d tokens, and %d were signed", errOlder, p.plan.Name(), spent, p.marks.count())
		}
		return nil
	})
}

// spent returns how many tokens of a plan its hops say to have counted.
func (s *Service) spent(ctx context.Context, p *served) (n int) {
	for i, hops := range p.plan.Route.Ways() {
		for h, party := range hops {
			if party.Tokens == "" {
				continue
			}
			hop := registry.Neighbour{URL: party.URL, Leg: wire.Leg{Plan: p.plan.Hash(), Instance: uint16(i), Hop: uint8(h + 1)}}
			_, _ = hop.Compare(ctx, s.o.Client, p.plan.Crowds(), func(_ int, held handover.Held) error {
				n += int(held.Tokens)
				return nil
			})
		}
	}
	return n
}
