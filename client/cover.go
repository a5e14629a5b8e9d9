package client

import (
	"context"
	"errors"
	"time"

	"github.com/confetti-dp/confetti/client/internal/spool"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Cover sends what looks like an answer to the plan and is none: random bytes of
// the same length, over the same connections, after a delay drawn alike. The
// entry hop authenticates them, writes them to its disk and answers as it does to an
// answer, and deletes them when the epoch is over.
//
// A network that watches then cannot tell who answers, as long as devices that do
// not answer send cover, nor when those that do have answered. The entry hop and
// the token issuer can tell; no estimate and no count of respondents is touched,
// and nothing is spent. A device that is opted out sends nothing. Tokens that an
// entry hop demands are shown and not used up.
//
// Cover waits out its delay itself, whatever Options.Wait is, and tries once. A
// device whose answers go out when the application calls Deliver calls Cover at
// such times too.
func (c *Client) Cover(ctx context.Context) error {
	if c.pipeline.tasks != nil {
		return errors.New("client: the plan's answers are summed, and a leader takes no cover: whoever watches the network sees who answers")
	}
	if err := c.signed.Plan.Collected(); err != nil {
		return err
	}
	var instances []int
	err := c.locked(func(l *Ledger, now time.Time) error {
		policy, allowed, err := c.allowed(l, now)
		instances = c.options.preferred(policy, c.signed.Plan.Route, allowed)
		return err
	})
	if err != nil {
		return err
	}
	tokens, err := c.tokens(ctx)
	if err != nil {
		return err
	}
	for _, instance := range c.coverInstances(instances) {
		s, err := c.coverBody(instance)
		if err != nil {
			return err
		}
		s.Token = tokens[instance][0] // nil where none is demanded
		if err := c.wait(ctx, s.NotBefore.Sub(s.Created)); err != nil {
			return err
		}
		if err := c.sender.put(ctx, s, wire.CoverID(s.Body)); err != nil {
			return err
		}
	}
	return nil
}

// coverInstances returns those that an answer would go through.
func (c *Client) coverInstances(allowed []int) []int {
	if c.signed.Plan.Route.Spreads() {
		return allowed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return []int{allowed[c.rand.IntN(len(allowed))]}
}

func (c *Client) coverBody(instance int) (spool.Contribution, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := c.pipeline.forms[instance].Cover(0, rng.Reader(c.rand))
	s := spool.Contribution{Plan: c.hash, Instance: uint16(instance), Created: c.now(), Body: body}
	s.NotBefore = s.Created.Add(c.delay(instance))
	return s, err
}
