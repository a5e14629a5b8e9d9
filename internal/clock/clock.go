// Package clock reports whether the time of day may be believed before something is done for good. Used by
// internal/service.
//
// The clock on the wall can be set, by a person, a network or a machine that was asleep; the monotonic one cannot.
// While the two run together the wall clock has not been touched.
package clock

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	agreement = time.Minute     // for how long the two must have run together
	tolerance = 2 * time.Second // by which they may drift meanwhile: clocks are slewed by less than a thousandth

	// skew is how far the clock of another machine may be from ours.
	skew = 5 * time.Minute
)

// Clock watches the wall clock. It is safe for concurrent use.
type Clock struct {
	wall func() time.Time
	mono func() time.Duration

	mu     sync.Mutex
	offset time.Duration // of the wall clock to the monotonic one, as it was
	since  time.Duration // monotonic: the offset has been that
}

// New begins to watch the system's clock: it settles after a minute at the earliest.
func New() *Clock {
	start := time.Now()
	return Watch(time.Now, func() time.Duration { return time.Since(start) })
}

// Watch is New for a wall clock and a monotonic one of other making, as in a test.
func Watch(wall func() time.Time, mono func() time.Duration) *Clock {
	c := &Clock{wall: wall, mono: mono}
	c.offset, c.since = c.apart(), mono()
	return c
}

// apart returns how far the wall clock is ahead of the monotonic one, from whatever
// beginning.
func (c *Clock) apart() time.Duration {
	// Round(0) takes the monotonic reading off, or there would be nothing to compare.
	return time.Duration(c.wall().Round(0).UnixNano()) - c.mono()
}

// Settled returns nil if the wall clock has run together with the monotonic one for a
// minute, and an *Unsettled otherwise. A nil Clock is one that is always believed.
func (c *Clock) Settled() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.mono()
	if d := c.apart() - c.offset; d > tolerance || d < -tolerance {
		c.offset, c.since = c.offset+d, now
	}
	if now-c.since < agreement {
		return &Unsettled{"the clock was set or has just been started: it is believed after it has run evenly for a minute"}
	}
	return nil
}

// Unsettled says why the time of day is not believed.
type Unsettled struct{ why string }

// Error says it in words that name nobody.
func (u *Unsettled) Error() string { return "clock: " + u.why }

// Asked compares our time with the Date headers of answers of other machines. One
// that is near ours is enough: whose clock is wrong, or who lies, cannot hold up
// those who agree. Without an answer there is nothing to compare.
func Asked(now time.Time, answers []*http.Response) error {
	compared := 0
	var apart time.Duration
	for _, r := range answers {
		date, err := http.ParseTime(r.Header.Get("Date"))
		if err != nil {
			continue
		}
		compared++
		if apart = now.Sub(date); apart >= -skew && apart <= skew {
			return nil
		}
	}
	if compared == 0 {
		return nil
	}
	return &Unsettled{fmt.Sprintf("it differs from that of other machines by %v: set whichever is wrong", apart.Round(time.Second))}
}
