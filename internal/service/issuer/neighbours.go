package issuer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
)

// A folder that is put back as it once was does not know who came since, and would
// give them second tokens. Nothing in it can tell. Hops say how many tokens they have
// counted for the crowds that they have handed over; more than were ever signed shows
// an older copy. Tokens that nobody has spent yet, or whose crowd has not left, show
// nothing.

// errOlder is the error of a folder that is older than what hops have seen.
var errOlder = errors.New("issuer: the folder is an older copy, and respondents could be given a second token: " + lostMarks)

// compare asks the hops of every plan how many tokens they have counted. One that is
// out of reach says nothing.
func (s *Service) compare() error {
	if s.o.Client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), serve.AskFor)
	defer cancel()
	all := s.sorted()
	errs := make([]error, len(all))
	places := make(chan struct{}, 16)
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if spent := s.spent(ctx, p); spent > p.log.len() {
				errs[i] = fmt.Errorf("%w: plan %s: hops have counted %d tokens, and %d were signed", errOlder, p.plan.Name(), spent, p.log.len())
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// spent returns how many tokens of a plan its hops say to have counted.
func (s *Service) spent(ctx context.Context, p *served) (n int) {
	hash, crowds := p.plan.Hash(), uint32(p.plan.Crowds())
	for i, hops := range p.plan.Route.Ways() {
		for h, party := range hops {
			if party.Tokens == "" || party.URL == "" {
				continue
			}
			for c := range crowds {
				held, err := serve.AskHeld(ctx, s.o.Client, party.URL, wire.Leg{Plan: hash, Instance: uint16(i), Hop: uint8(h + 1), Crowd: c})
				if err != nil {
					break
				}
				n += int(held.Tokens)
			}
		}
	}
	return n
}
