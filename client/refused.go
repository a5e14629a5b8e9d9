package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
)

// What services refuse, where a program can do something about it.
var (
	// ErrCredential says that a service does not know who asks, or has answered another device under the same
	// credential. Nothing was drawn or charged where Report says so by itself, and not in a *WaitingError.
	ErrCredential = errors.New("client: refused: this credential is not known, or another device has used it: give each respondent a token of its own, as whoever runs the collection has drawn it, in Options.Bearer")
	// ErrFull says that a service has no room for the moment.
	ErrFull = errors.New("client: the service has no room or time now: what waits goes later, by Deliver")
)

// refused puts the errors above before what a service has said.
func refused(p *wire.Problem) error {
	switch p.Code {
	case wire.Unauthenticated, wire.TokenIssued:
		return fmt.Errorf("%w: %w", ErrCredential, p)
	case wire.RateLimited, wire.Overloaded, wire.StorageFull:
		return fmt.Errorf("%w: %w", ErrFull, p)
	case wire.EpochOver:
		return fmt.Errorf("%w: %w", ErrClosed, p)
	}
	return p
}

// granted takes the tokens that an answer needs before it is drawn, so that nobody pays for one that a wrong
// credential keeps from counting. It asks the issuer alone, and only where the plan would be answered: what it says
// then does not depend on the value. An issuer that is away or busy, or says what its
// publisher would have to say, is no reason to wait with the answer.
func (c *Client) granted(ctx context.Context) error {
	if c.sender.issuer == "" {
		return nil
	}
	if c.locked(func(l *Ledger, now time.Time) error { return c.may(l, now) }) != nil {
		return nil // as Answer says
	}
	tokens, err := c.tokens(ctx)
	if errors.Is(err, ErrCredential) || errors.Is(err, ErrClosed) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken = tokens
	return nil
}

// may says why the plan may not be answered now.
func (c *Client) may(l *Ledger, now time.Time) error {
	policy, _, err := c.allowed(l, now)
	if err == nil {
		err = c.refuses(l, now)
	}
	if err == nil {
		err = c.takesRound(l, now)
	}
	if err == nil {
		_, err = c.affords(l, now, c.caps(policy), c.cost)
	}
	return err
}
