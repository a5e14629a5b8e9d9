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

// notAllowed names the code of a plan for which the policy, or the respondent's trust, leaves no route.
const notAllowed = "not-allowed"

// Policy is what the administrator of a device allows, whatever its user agreed
// to and a program asks for. The zero Policy allows everything; a policy never
// opts anybody in.
type Policy struct {
	Off        bool
	Publishers struct{ Allow, Deny []string } // public keys; an empty Allow lets all but Deny pass
	Operators  Operators                      // hold beside the respondent's own
	Caps       *Caps                          // beside the program's own: both must hold
}

// Operators chooses an instance, or the pair of aggregators, by the names of their operators. The zero
// value treats all alike. The chosen instance is public: the choice must not depend on the answer.
type Operators struct {
	Deny   []string `json:"deny,omitempty"`   // leaves out each instance with a hop of one of them
	Trust  []string `json:"trust,omitempty"`  // leaves only instances with a hop of one of them; empty: leaves all
	Prefer []string `json:"prefer,omitempty"` // takes those with a hop of one of them, if any are left
}

// allow returns the instances without a denied operator that have a trusted one.
func (o Operators) allow(ways [][]plan.Party, instances []int) (left []int) {
	for _, i := range instances {
		if !among(ways[i], o.Deny) && (len(o.Trust) == 0 || among(ways[i], o.Trust)) {
			left = append(left, i)
		}
	}
	return left
}

// prefer returns the instances that have a preferred operator, or all if none has.
func (o Operators) prefer(ways [][]plan.Party, instances []int) (left []int) {
	for _, i := range instances {
		if among(ways[i], o.Prefer) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return instances
	}
	return left
}

// among reports whether one of the parties has one of the names.
func among(parties []plan.Party, names []string) bool {
	return slices.ContainsFunc(parties, func(h plan.Party) bool { return slices.Contains(names, h.Operator) })
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

// permits reads the policy and says why it does not allow a plan.
func (o Options) permits(signed plan.Signed) (p Policy, instances []int, err error) {
	if o.Policy != nil {
		if p, err = o.Policy(); err != nil {
			return p, nil, err
		}
	}
	instances, err = p.permits(signed, o.Operators)
	return p, instances, err
}

// permits returns the instances that the administrator and the respondent leave to a plan, or why they leave none.
func (p Policy) permits(signed plan.Signed, respondent Operators) (instances []int, err error) {
	if p.Off {
		return nil, ErrOff
	}
	denied := func(key string) bool { return slices.Contains(p.Publishers.Deny, key) }
	allowed := func(key string) bool { return slices.Contains(p.Publishers.Allow, key) }
	if signers := signed.Signers(); slices.ContainsFunc(signers, denied) || len(p.Publishers.Allow) > 0 && !slices.ContainsFunc(signers, allowed) {
		return nil, as(notAllowed, fmt.Errorf("client: refused: the device's policy does not allow plans of %s", strings.Join(signers, " and ")))
	}
	ways := signed.Plan.Route.Ways()
	all := make([]int, len(ways))
	for i := range all {
		all[i] = i
	}
	instances = p.Operators.allow(ways, all)
	left := respondent.allow(ways, instances)
	lacks := func(instances []int) bool {
		return len(instances) == 0 || signed.Plan.Route.Spreads() && len(instances) < len(ways)
	}
	switch {
	case lacks(instances):
		return nil, as(notAllowed, errors.New("client: refused: the device's policy denies or does not trust the operators that every report of this plan goes through"))
	case lacks(left):
		return nil, as(notAllowed, errors.New("client: refused: every report of this plan goes through operators that the respondent denies, or among whom is none that the respondent trusts"))
	}
	return left, nil
}

// preferred returns the allowed instances that policy and respondent prefer. Where a part of each answer goes through
// every instance it returns all.
func (o Options) preferred(p Policy, r plan.Route, instances []int) []int {
	if r.Spreads() {
		return instances
	}
	return p.Operators.prefer(r.Ways(), o.Operators.prefer(r.Ways(), instances))
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
			if p.Status == Waiting {
				if err := l.drop(store, now, e.Plan, p.Instance, "the respondent opted out"); err != nil {
					return err
				}
			}
		}
	}
	_, err = l.sweep(store, now)
	return err
}
