package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
	"github.com/confetti-dp/confetti/plan"
)

// Off is the environment variable that, set to anything, keeps every client in
// the process from answering and sending. It can only forbid.
const Off = "CONFETTI_OFF"

// The reasons for which a client refuses before it looks at a value.
var (
	ErrNotOptedIn = errors.New("client: refused: the respondent has not opted in")
	ErrOff        = errors.New("client: refused: collection is switched off on this device")
	ErrAnswered   = errors.New("client: refused: this plan was answered before, and one answer of a respondent counts")
	ErrNotOpen    = errors.New("client: refused: the collection has not opened yet")
	ErrClosed     = errors.New("client: refused: the collection is over: ask for the address of the next one")
)

// Policy is what the administrator of a device allows, whatever its user agreed
// to and a program asks for. The zero Policy allows everything; a policy never
// opts anybody in.
type Policy struct {
	Off        bool
	Publishers struct{ Allow, Deny []string } // public keys; an empty Allow lets all but Deny pass
	Operators  struct{ Deny []string }        // names: nothing goes through an instance that one of them has a hop in
	Caps       *Caps                          // beside the program's own: both must hold
}

// Validate refuses caps that would not do what they seem to.
func (c Caps) Validate() error {
	for _, x := range []float64{c.Plan.Epsilon, c.Plan.Delta, c.Plan.Local, c.Window.Epsilon, c.Window.Delta, c.Window.Local} {
		if !(x >= 0) {
			return errors.New("a cap is negative")
		}
	}
	if c.Window != (Cap{}) && c.Period <= 0 {
		return errors.New("a cap on a window needs the window's period")
	}
	return nil
}

// permits says why the administrator does not allow a plan of the publisher, and
// which instances are left.
func (p Policy) permits(signed plan.Signed) (instances []int, err error) {
	if p.Off {
		return nil, ErrOff
	}
	denied := func(key string) bool { return slices.Contains(p.Publishers.Deny, key) }
	allowed := func(key string) bool { return slices.Contains(p.Publishers.Allow, key) }
	if signers := signed.Signers(); slices.ContainsFunc(signers, denied) || len(p.Publishers.Allow) > 0 && !slices.ContainsFunc(signers, allowed) {
		return nil, fmt.Errorf("client: refused: the device's policy does not allow plans of %s", strings.Join(signers, " and "))
	}
	ways := signed.Plan.Route.Ways()
	for i, parties := range ways {
		if !slices.ContainsFunc(parties, func(h plan.Party) bool { return slices.Contains(p.Operators.Deny, h.Operator) }) {
			instances = append(instances, i)
		}
	}
	if len(instances) == 0 || signed.Plan.Route.Spreads() && len(instances) < len(ways) {
		return nil, errors.New("client: refused: the device's policy denies an operator that every report of this plan goes through")
	}
	return instances, nil
}

// Consent records that the respondent opts in or out. A device starts opted out.
// Opting out drops everything that has not left the device; what was spent stays
// in the ledger.
func Consent(store Store, in bool) error {
	unlock, err := store.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := journal.Make(store); err != nil {
		return err
	}
	l, err := ReadLedger(store)
	if err != nil {
		return err
	}
	now := time.Now()
	if in != l.OptedIn || l.Since.IsZero() {
		if err := l.append(record{Kind: kindConsent, At: now, OptedIn: in}); err != nil {
			return err
		}
	}
	if in {
		return nil
	}
	for _, e := range l.Entries {
		for _, p := range e.Parts {
			if p.State == Waiting {
				if err := l.drop(store, now, e.Plan, p.Instance, "the respondent opted out"); err != nil {
					return err
				}
			}
		}
	}
	_, err = l.sweep(store, now)
	return err
}
