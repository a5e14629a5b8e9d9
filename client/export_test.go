package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// SetTime replaces the clock, and lets waits pass without waiting.
func (c *Client) SetTime(now func() time.Time, wait func(time.Duration)) {
	c.now = now
	c.wait = func(ctx context.Context, d time.Duration) error {
		if wait != nil {
			wait(d)
		}
		return ctx.Err()
	}
}

// SetRand replaces the randomness of delays, waits and the choice of instance.
func (c *Client) SetRand(r *rand.Rand) { c.rand = r }
