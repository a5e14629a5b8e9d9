package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// withdrawn gives up what waits of the plan's answer, if the service that says that the
// plan was withdrawn can show it: a statement that one of the publishers who signed this
// very plan has signed. A service's own word is not enough, and the answer waits on.
// What it cost stays spent, since it may have been sent.
func (c *Client) withdrawn(ctx context.Context, instance int, said *wire.Problem) error {
	var why error
	for _, address := range []string{c.sender.entries[instance], c.sender.issuer} {
		if address == "" {
			continue
		}
		statement, err := c.statement(ctx, address)
		if err == nil {
			return c.giveUp(statement)
		}
		why = errors.Join(why, err)
	}
	return fmt.Errorf("client: a service says that the plan was withdrawn, and does not show its publisher's word: %w: %w", said, why)
}

func (c *Client) statement(ctx context.Context, address string) (plan.SignedWithdrawal, error) {
	text, err := do(ctx, c.sender.transport, Request{Method: "GET", URL: address + wire.WithdrawalPath(c.hash)}, plan.MaxWithdrawalBytes)
	if err != nil {
		return plan.SignedWithdrawal{}, err
	}
	w, err := plan.ParseWithdrawal(text)
	if err == nil && !w.Of(c.hash, c.signed.Signers()) {
		err = errors.New("client: the withdrawal is of another plan, or of somebody who has not signed this one")
	}
	return w, err
}

func (c *Client) giveUp(w plan.SignedWithdrawal) error {
	return c.locked(func(l *Ledger, now time.Time) error {
		e := l.entry(c.name)
		if e == nil {
			return nil
		}
		for _, p := range e.Parts {
			if !l.waits(c.name, p.Instance) {
				continue
			}
			if err := l.drop(c.store, now, c.name, p.Instance, "the plan was "+w.String()); err != nil {
				return err
			}
		}
		return nil
	})
}
