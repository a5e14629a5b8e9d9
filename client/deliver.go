package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/dp/fragment"
	"github.com/confetti-dp/confetti/internal/wire"
)

// WaitingError says that an answer is safe on the device and not yet sent.
type WaitingError struct {
	Parts int   // contributions that wait
	Cause error // why the last attempt failed
}

// Error says how many wait, and why.
func (e *WaitingError) Error() string {
	waiting := "1 contribution waits"
	if e.Parts != 1 {
		waiting = fmt.Sprintf("%d contributions wait", e.Parts)
	}
	return fmt.Sprintf("client: %s on the device, to be sent later: %v", waiting, e.Cause)
}

// Unwrap is the cause.
func (e *WaitingError) Unwrap() error { return e.Cause }

// DroppedError says that a contribution will never count. What it cost stays
// spent: it may have been sent.
type DroppedError struct{ Reason string }

// Error gives the reason.
func (e *DroppedError) Error() string { return "client: the contribution was dropped: " + e.Reason }

// A contribution is tried so often before it is left for a later Deliver, after
// waits that double from firstWait to longestWait.
const (
	attempts    = 8
	firstWait   = time.Second
	longestWait = 5 * time.Minute
)

// Deliver seals and sends what waits of the plan's answer, waits out its delay,
// and tries again where that may help, until the context ends. A service that
// asks for a longer wait than five minutes is left for a later Deliver. The error
// is nil where nothing waits any more, a *WaitingError, or a *DroppedError.
func (c *Client) Deliver(ctx context.Context) error {
	waiting, err := c.parts(Waiting)
	if err != nil {
		return err
	}
	before := waiting
	var cause error
	for attempt := 0; len(waiting) > 0 && attempt < attempts; attempt++ {
		cause = nil
		var pause time.Duration // that a service asked for
		again := false
		for _, p := range waiting {
			retry, after, err := c.send(ctx, p.Instance)
			pause, again = max(pause, after), again || retry
			cause = errors.Join(cause, err)
		}
		if waiting, err = c.parts(Waiting); err != nil {
			return err
		}
		last := attempt == attempts-1 || pause > longestWait
		if len(waiting) > 0 && (!again || last || c.wait(ctx, pause+c.backoff(attempt)) != nil) {
			return &WaitingError{Parts: len(waiting), Cause: errors.Join(cause, ctx.Err())}
		}
	}
	dropped, err := c.parts(Dropped)
	for _, p := range dropped {
		if slices.ContainsFunc(before, func(b Part) bool { return b.Instance == p.Instance }) {
			err = errors.Join(err, &DroppedError{p.Reason})
		}
	}
	return errors.Join(cause, err) // cause: a fault of this device after the last was sent
}

// parts are those of the plan's answer that are in a state.
func (c *Client) parts(state State) (parts []Part, err error) {
	err = c.locked(func(l *Ledger, _ time.Time) error {
		if e := l.entry(c.name); e != nil {
			parts = slices.DeleteFunc(slices.Clone(e.Parts), func(p Part) bool { return p.State != state })
		}
		return nil
	})
	return parts, err
}

// backoff is uniform between nothing and a limit that doubles: devices that a
// service has failed together do not come back together.
func (c *Client) backoff(attempt int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rand.Int64N(int64(min(firstWait<<attempt, longestWait)))) + 1
}

// send makes one attempt for one contribution. Retry says whether the same may
// succeed soon, and after how long at the earliest.
func (c *Client) send(ctx context.Context, instance int) (retry bool, after time.Duration, err error) {
	s, err := c.sealed(ctx, instance)
	if s == nil || err != nil {
		return retryable(err)
	}
	// A clock that was set back must not hold a contribution longer than its delay.
	if delay := min(s.notBefore.Sub(c.now()), c.options.Delay); delay > 0 {
		if err := c.wait(ctx, delay); err != nil {
			return false, 0, err
		}
		if part, _, err := c.toSeal(instance); part == nil || err != nil {
			return false, 0, err // the respondent may have opted out while it waited
		}
	}
	err = c.sender.contribute(ctx, *s)
	if err == nil {
		if err := c.options.Failpoint("contribution-acknowledged"); err != nil {
			return false, 0, err
		}
	}
	problem, refused := errors.AsType[*wire.Problem](err)
	switch {
	case err == nil:
		return false, 0, c.locked(func(l *Ledger, now time.Time) error {
			if l.waits(c.name, instance) {
				if err := c.folder.append(l, record{Kind: kindSent, At: now, Plan: c.name, Instance: instance}); err != nil {
					return err
				}
			}
			if err := c.options.Failpoint("contribution-marked"); err != nil {
				return err
			}
			if err := c.folder.unspool(c.name, instance); err != nil {
				return err
			}
			return c.folder.compact(l, now, c.options)
		})
	case refused && final(problem.Code):
		return false, 0, c.drop(instance, fmt.Sprintf("the entry hop says %s", problem.Code))
	}
	return retryable(err)
}

func (c *Client) drop(instance int, reason string) error {
	return c.locked(func(l *Ledger, now time.Time) error {
		if !l.waits(c.name, instance) {
			return nil
		}
		return c.folder.drop(l, now, c.name, instance, reason)
	})
}

// final are the refusals of a contribution for which nothing can be done later.
// All others may be the fault of the service, its configuration or the device's
// credentials, and can be mended while the contribution waits.
func final(code wire.Code) bool {
	return slices.Contains([]wire.Code{wire.AlreadyContributed, wire.EpochOver, wire.ContributionRefused, wire.TooLarge, wire.TokenRefused}, code)
}

// retryable sorts errors of attempts: trying again soon helps against what may
// pass by itself.
func retryable(err error) (retry bool, after time.Duration, same error) {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return p.Retry(), p.RetryAfter, err
	}
	if _, ok := errors.AsType[*networkError](err); ok {
		return true, 0, err
	}
	return false, 0, err
}

// sealed is the spooled contribution of an instance. It is made the first time,
// which takes the tokens that the plan's hops demand, and then never changes. It
// is nil for a part that does not wait any more.
func (c *Client) sealed(ctx context.Context, instance int) (*spooled, error) {
	part, crowd, err := c.toSeal(instance)
	if part == nil || err != nil {
		return nil, err
	}
	s, err := c.folder.readSpooled(c.name, instance)
	if err == nil {
		return &s, nil
	}
	if errors.Is(err, errSpool) {
		// It may have been sent: another seal of the same report is not the same bytes.
		return nil, c.drop(instance, "its file was damaged")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("client: %w", err)
	}
	made, err := c.seal(ctx, *part, crowd)
	if err != nil {
		return nil, err
	}
	if err := c.options.Failpoint("contribution-sealed"); err != nil {
		return nil, err
	}
	kept := &made
	err = c.locked(func(l *Ledger, _ time.Time) error {
		if !l.waits(c.name, instance) {
			kept = nil
			return nil
		}
		// Another process may have been quicker; what it wrote may have been sent.
		earlier, err := c.folder.readSpooled(c.name, instance)
		if errors.Is(err, fs.ErrNotExist) {
			return c.folder.spool(made)
		}
		kept = &earlier
		return err
	})
	if err != nil {
		return nil, err
	}
	return kept, c.options.Failpoint("contribution-spooled")
}

// toSeal is the part to be sent through an instance; nil if it does not wait.
func (c *Client) toSeal(instance int) (part *Part, crowd int, err error) {
	err = c.locked(func(l *Ledger, now time.Time) error {
		if _, err := c.folder.sweep(l, now); err != nil {
			return err
		}
		e := l.entry(c.name)
		if e == nil {
			return nil
		}
		crowd = e.Crowd
		if i := slices.IndexFunc(e.Parts, func(p Part) bool { return p.Instance == instance && p.State == Waiting }); i >= 0 {
			part = &e.Parts[i]
			_, _, err := c.allowed(l, now)
			return err
		}
		return nil
	})
	return part, crowd, err
}

func (c *Client) seal(ctx context.Context, part Part, crowd int) (spooled, error) {
	if part.Instance >= len(c.signed.Plan.Route.Mix.Instances) || crowd < 0 || crowd >= c.signed.Plan.Crowds() {
		return spooled{}, errDamaged // the name is a hash of the plan
	}
	tokens, err := c.tokens(ctx)
	if err != nil {
		return spooled{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pipeline.Tokens = func(instance int) ([][]byte, error) { return tokens[instance], nil }
	said := make([]fragment.Message, len(part.Messages))
	for i, m := range part.Messages {
		said[i] = fragment.Message(m)
	}
	contribution, err := c.pipeline.seal(destination{part.Instance, crowd}, c.pipeline.protocol.Fragment(c.rand, said))
	if err != nil {
		return spooled{}, err
	}
	body, err := contribution.Marshal()
	if err != nil {
		return spooled{}, err
	}
	now := c.now()
	return spooled{
		plan: c.hash, instance: uint16(part.Instance), id: wire.ContributionID(body), token: contribution.Token,
		created: now, notBefore: now.Add(c.delay()), body: body,
	}, nil
}

// delay is uniform up to the longest.
func (c *Client) delay() time.Duration {
	if c.options.Delay == 0 {
		return 0
	}
	return time.Duration(c.rand.Int64N(int64(c.options.Delay)))
}
