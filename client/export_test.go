package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// SetTime replaces the clock, and lets waits pass without waiting: the clock is
// then later by so much.
func (c *Client) SetTime(now func() time.Time, wait func(time.Duration)) {
	var waited time.Duration
	c.now = func() time.Time { return now().Add(waited) }
	c.wait = func(ctx context.Context, d time.Duration) error {
		if wait != nil {
			wait(d)
		}
		waited += d
		return ctx.Err()
	}
}

// SetRand replaces the randomness of delays, waits and the choice of instance.
func (c *Client) SetRand(r *rand.Rand) { c.rand = r }

// Kept is the ledger as the client has it in memory.
func (c *Client) Kept() *Ledger { return c.ledger }

// Backstops returns how many the ledger has.
func (l *Ledger) Backstops() int { return len(l.backstops) }
