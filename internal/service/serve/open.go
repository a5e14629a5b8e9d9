package serve

import (
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Unsure returns the problem of a request that comes too late by a clock that is not believed
// yet.
func Unsure() error {
	p := wire.Problemf(wire.Overloaded, "the clock of this service is being watched")
	p.RetryAfter = time.Minute
	return p
}

// IsOpen says why a collection takes nothing now, and its issuer signs nothing; closed: it has ended, for good. A clock
// that jumps back does not open again what was closed.
func (c Common) IsOpen(times plan.Times, closed bool) error {
	now := c.Now()
	switch {
	case !closed && !now.Before(times.Closes) && c.Clock.Settled() != nil:
		// Whoever is told that it is over throws what it has away.
		return Unsure()
	case closed || !now.Before(times.Closes):
		return wire.Problemf(wire.EpochOver, "the plan has closed")
	case now.Before(times.Opens):
		p := wire.Problemf(wire.NotOpen, "the plan has not opened")
		p.RetryAfter = min(times.Opens.Sub(now), 24*time.Hour)
		return p
	}
	return nil
}
