package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/client/internal/spool"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/wire"
)

// WaitingError says that an answer is safe on the device and not yet sent.
type WaitingError struct {
	Parts int       // contributions that wait
	Next  time.Time // when Deliver may get on; zero if only somebody's action helps
	Cause error     // why the last attempt failed, or ErrDelayed
}

// Error says how many wait, and why.
func (e *WaitingError) Error() string {
	waiting, when := "1 contribution waits", "later"
	if e.Parts != 1 {
		waiting = fmt.Sprintf("%d contributions wait", e.Parts)
	}
	if !e.Next.IsZero() {
		when = "from " + e.Next.UTC().Format(time.RFC3339) + " on"
	}
	return fmt.Sprintf("client: %s on the device, to be sent %s: %v", waiting, when, e.Cause)
}

// Unwrap returns the cause.
func (e *WaitingError) Unwrap() error { return e.Cause }

// ErrDelayed is the Cause where nothing has failed and a random delay is not over.
var ErrDelayed = errors.New("until a random delay is over, times would tell whose contribution it is: deliver it then, or in a trial set Options.Delay to NoDelay")

// DroppedError says that a contribution will never count. What it cost stays
// spent: it may have been sent.
type DroppedError struct{ Reason string }

// Error gives the reason.
func (e *DroppedError) Error() string { return "client: the contribution was dropped: " + e.Reason }

// Attempts are repeated after waits that double from firstWait to longestWait, as
// long as Options.Wait allows.
const (
	firstWait   = time.Second
	longestWait = 5 * time.Minute
)

// attempt is what became of one attempt for one contribution that still waits.
type attempt struct {
	again bool      // the same may succeed by itself
	due   time.Time // not before
	tries int
	err   error
}

// Deliver seals and sends what waits of the plan's answer and is due. It waits
// for delays, and tries again where that may help, for as long as Options.Wait
// says. The error is nil where nothing waits any more, a *WaitingError, or a
// *DroppedError.
func (c *Client) Deliver(ctx context.Context) error {
	return c.deliver(ctx, c.now().Add(c.options.Wait))
}

// DeliverAll does for a program's background what Deliver does: it waits and tries again until nothing
// waits, only somebody's action helps, or the context ends.
func (c *Client) DeliverAll(ctx context.Context) error {
	return c.deliver(ctx, c.now().AddDate(100, 0, 0))
}

func (c *Client) deliver(ctx context.Context, until time.Time) error {
	before, err := c.parts(Waiting)
	if err != nil {
		return err
	}
	last := map[int]attempt{} // by instance
	for waiting := before; len(waiting) > 0; {
		for _, p := range waiting {
			if a, tried := last[p.Instance]; !tried || a.again && !a.due.After(c.now()) {
				last[p.Instance] = c.try(ctx, p.Instance, a.tries)
			}
		}
		if waiting, err = c.parts(Waiting); err != nil {
			return err
		}
		if len(waiting) == 0 {
			break
		}
		next, cause := soonest(waiting, last)
		if next.IsZero() || next.After(until) || c.wait(ctx, next.Sub(c.now())) != nil {
			return &WaitingError{Parts: len(waiting), Next: next, Cause: errors.Join(cause, ctx.Err())}
		}
	}
	for _, a := range last {
		err = errors.Join(err, a.err) // a fault of this device after the last was sent
	}
	dropped, unreadable := c.parts(Dropped)
	err = errors.Join(err, unreadable)
	for _, p := range dropped {
		if slices.ContainsFunc(before, func(b Part) bool { return b.Instance == p.Instance }) {
			err = errors.Join(err, &DroppedError{p.Reason})
		}
	}
	return err
}

// soonest returns when the first of the parts that wait may be tried again, zero for
// never, and why they wait.
func soonest(waiting []Part, last map[int]attempt) (next time.Time, cause error) {
	for _, p := range waiting {
		a := last[p.Instance]
		if a.again && (next.IsZero() || a.due.Before(next)) {
			next = a.due
		}
		cause = errors.Join(cause, a.err)
	}
	if cause == nil {
		cause = ErrDelayed
	}
	return next, cause
}

// try makes one attempt for one contribution, or finds that it is not due.
func (c *Client) try(ctx context.Context, instance, tries int) attempt {
	s, err := c.sealed(ctx, instance)
	if err == nil && s != nil {
		// A clock that was set back must not hold a contribution longer than its delay.
		if delay := min(s.NotBefore.Sub(c.now()), c.longestDelay(instance)); delay > 0 {
			return attempt{again: true, due: c.now().Add(delay), tries: tries}
		}
		err = c.send(ctx, *s)
	}
	if problem, ok := errors.AsType[*wire.Problem](err); ok && problem.Code == wire.PlanWithdrawn {
		err = c.withdrawn(ctx, instance, problem)
	}
	if err == nil {
		return attempt{}
	}
	again, after := retryable(err)
	return attempt{again: again, due: c.now().Add(after + c.backoff(tries)), tries: tries + 1, err: err}
}

// parts returns those of the plan's answer that have a status.
func (c *Client) parts(status Status) (parts []Part, err error) {
	err = c.locked(func(l *Ledger, _ time.Time) error {
		if e := l.entry(c.name); e != nil {
			parts = slices.DeleteFunc(slices.Clone(e.Parts), func(p Part) bool { return p.Status != status })
		}
		return nil
	})
	return parts, err
}

// backoff draws uniformly between nothing and a limit that doubles: devices that a
// service has failed together do not come back together.
func (c *Client) backoff(tries int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.rand.Int64N(int64(min(firstWait<<min(tries, 20), longestWait)))) + 1
}

// send makes one request for one contribution, and marks what became of it.
func (c *Client) send(ctx context.Context, s spool.Contribution) error {
	instance := int(s.Instance)
	err := c.sender.contribute(ctx, s)
	if err == nil {
		if err := c.options.Failpoint("contribution-acknowledged"); err != nil {
			return err
		}
	}
	problem, refused := errors.AsType[*wire.Problem](err)
	switch {
	case err == nil:
		return c.locked(func(l *Ledger, now time.Time) error {
			if l.waits(c.name, instance) {
				if err := l.append(record{Kind: kindSent, At: now, Plan: c.name, Instance: instance}); err != nil {
					return err
				}
			}
			if err := c.options.Failpoint("contribution-marked"); err != nil {
				return err
			}
			if err := c.store.Remove(spool.Name(c.name, instance)); err != nil {
				return err
			}
			return l.compact(now, c.options)
		})
	case refused && final(problem.Code):
		return c.drop(instance, fmt.Sprintf("the entry hop says %s", problem.Code))
	}
	return err
}

func (c *Client) drop(instance int, reason string) error {
	return c.locked(func(l *Ledger, now time.Time) error {
		if !l.waits(c.name, instance) {
			return nil
		}
		return l.drop(c.store, now, c.name, instance, reason)
	})
}

// final reports whether nothing can be done later for a contribution that is refused so.
// All others may be the fault of the service, its configuration or the device's
// credentials, and can be mended while the contribution waits.
func final(code wire.Code) bool {
	return slices.Contains([]wire.Code{wire.AlreadyContributed, wire.EpochOver, wire.ContributionRefused, wire.TooLarge, wire.TokenRefused}, code)
}

// retryable sorts errors of attempts: trying again soon helps against what may
// pass by itself, after what a service asks for.
func retryable(err error) (again bool, after time.Duration) {
	if p, ok := errors.AsType[*wire.Problem](err); ok {
		return p.Retry(), p.RetryAfter
	}
	_, ok := errors.AsType[*networkError](err)
	return ok, 0
}

// sealed returns the spooled contribution of an instance. It is made the first time,
// which takes the tokens that the plan's hops demand, and then never changes. It
// is nil for a part that does not wait any more.
func (c *Client) sealed(ctx context.Context, instance int) (*spool.Contribution, error) {
	part, crowd, err := c.toSeal(instance)
	if part == nil || err != nil {
		return nil, err
	}
	s, err := readSpooled(c.store, c.name, instance)
	switch {
	case err == nil && part.sealed:
		return &s, nil
	// It may have been sent: another seal of the same report is not the same bytes.
	case errors.Is(err, spool.ErrDamaged):
		return nil, c.drop(instance, "its file was damaged")
	case errors.Is(err, fs.ErrNotExist) && part.sealed:
		return nil, c.drop(instance, "its file was lost, and it may have been sent")
	case errors.Is(err, fs.ErrNotExist):
		if s, err = c.seal(ctx, *part, crowd); err == nil {
			err = c.options.Failpoint("contribution-sealed")
		}
	case err != nil:
		err = fmt.Errorf("client: %w", err)
	}
	if err != nil {
		return nil, err
	}
	kept, err := c.spool(s)
	if err != nil {
		return nil, err
	}
	return kept, c.options.Failpoint("contribution-spooled")
}

// spool keeps a sealed contribution, and writes down that it may be sent from then on. It
// returns what is kept: another process may have been quicker. It is nil for a part that
// does not wait any more.
func (c *Client) spool(made spool.Contribution) (kept *spool.Contribution, err error) {
	instance := int(made.Instance)
	err = c.locked(func(l *Ledger, now time.Time) error {
		part := l.part(c.name, instance)
		if part == nil || part.Status != Waiting {
			return nil
		}
		s, err := readSpooled(c.store, c.name, instance)
		if errors.Is(err, fs.ErrNotExist) && !part.sealed {
			s, err = made, c.store.Replace(spool.Name(c.name, instance), made.Bytes())
		}
		if err == nil {
			err = c.options.Failpoint("contribution-kept")
		}
		if err == nil && !part.sealed {
			err = l.append(record{Kind: kindSealed, At: now, Plan: c.name, Instance: instance})
		}
		kept = &s
		return err
	})
	return kept, err
}

// toSeal returns the part to be sent through an instance; nil if it does not wait.
func (c *Client) toSeal(instance int) (part *Part, crowd int, err error) {
	err = c.locked(func(l *Ledger, now time.Time) error {
		if _, err := l.sweep(c.store, now); err != nil {
			return err
		}
		if found := l.part(c.name, instance); found != nil && found.Status == Waiting {
			waiting := *found
			part, crowd = &waiting, l.entry(c.name).Crowd
			_, instances, err := c.allowed(l, now)
			if err == nil && !slices.Contains(instances, instance) { // since the answer was drawn
				err = as(notAllowed, errors.New("client: refused: this answer goes through an operator whom the device's policy or the respondent does not allow any more: it waits until they do, or the plan closes"))
			}
			return err
		}
		return nil
	})
	return part, crowd, err
}

func (c *Client) seal(ctx context.Context, part Part, crowd int) (spool.Contribution, error) {
	if part.Instance >= len(c.signed.Plan.Route.Ways()) || part.Summed() != (c.pipeline.tasks != nil) || crowd < 0 || crowd >= c.signed.Plan.Crowds() {
		return spool.Contribution{}, journal.ErrDamaged // the name is a hash of the plan
	}
	c.mu.Lock()
	tokens := c.taken
	c.mu.Unlock()
	if tokens == nil {
		var err error
		if tokens, err = c.tokens(ctx); err != nil {
			return spool.Contribution{}, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if part.Summed() {
		return c.sealSum(part, crowd, tokens[part.Instance])
	}
	envelopes := c.signed.Plan.Envelopes
	packed := Packed{Instance: part.Instance, Payloads: part.said.payloads()}
	if packed.Payloads == nil { // version 1 kept the messages by themselves
		packed.Payloads = fragment.Pack(c.rand, part.Messages, envelopes.PerDevice, envelopes.PayloadBytes)
	}
	if len(packed.Payloads) != envelopes.PerDevice || len(packed.Payloads[0]) != envelopes.PayloadBytes {
		return spool.Contribution{}, journal.ErrDamaged
	}
	contribution, err := c.pipeline.Seal(crowd, packed, tokens[part.Instance])
	if err != nil {
		return spool.Contribution{}, err
	}
	now := c.now()
	return spool.Contribution{
		Plan: c.hash, Instance: uint16(part.Instance), ID: wire.ContributionID(contribution.Body), Token: contribution.Token,
		Created: now, NotBefore: now.Add(c.delay(part.Instance)), Body: contribution.Body,
	}, nil
}

// sealSum seals an answer that is summed. The caller holds mu.
func (c *Client) sealSum(part Part, crowd int, tokens [][]byte) (spool.Contribution, error) {
	vector, err := c.secret.unshut(c.hash, part.said.Vector)
	if err != nil {
		return spool.Contribution{}, err
	}
	now := c.now()
	report, err := c.pipeline.split(crowd, vector, now, tokens)
	if err != nil {
		return spool.Contribution{}, err
	}
	body := report.Append(nil)
	return spool.Contribution{
		Plan: c.hash, ID: wire.ContributionID(body), Token: tokens[0], Task: c.pipeline.tasks[crowd].ID,
		Created: now, NotBefore: now.Add(c.delay(part.Instance)), Body: body,
	}, nil
}

// delay draws uniformly up to the longest, or half the time that is left.
func (c *Client) delay(instance int) time.Duration {
	longest := c.longestDelay(instance)
	if closes := c.signed.Plan.Times.Closes; !closes.IsZero() {
		longest = min(longest, closes.Sub(c.now())/2)
	}
	if longest <= 0 {
		return 0
	}
	return time.Duration(c.rand.Int64N(int64(longest)))
}

// longestDelay of what goes through an instance.
func (c *Client) longestDelay(instance int) time.Duration {
	if c.options.Delay == 0 && c.sender.tokens[instance] {
		return DefaultDelay
	}
	return max(0, c.options.Delay)
}
