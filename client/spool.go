package client

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/client/internal/spool"
)

// readSpooled reads one contribution, and refuses what is not of its name.
func readSpooled(store Store, plan string, instance int) (s spool.Contribution, err error) {
	data, err := store.Load(spool.Name(plan, instance))
	if err != nil {
		return s, err
	}
	s, err = spool.Parse(data)
	if err == nil && (hex.EncodeToString(s.Plan[:]) != plan || int(s.Instance) != instance) {
		err = spool.ErrDamaged
	}
	return s, err
}

// sweep drops what could not be sent in time, of whatever plan, removes what a
// crash has left behind, and says how many bytes still wait to be sent.
func (l *Ledger) sweep(store Store, now time.Time) (size int64, err error) {
	for i := range l.Entries {
		e := &l.Entries[i]
		for _, p := range e.Parts {
			if p.Status == Waiting && now.After(e.Expires) {
				if err := l.drop(store, now, e.Plan, p.Instance, "it could not be sent in time"); err != nil {
					return 0, err
				}
			}
		}
	}
	kept, err := store.List()
	if err != nil {
		return 0, fmt.Errorf("client: %w", err)
	}
	for name, bytes := range kept {
		if !strings.HasPrefix(name, spool.Under) {
			continue
		}
		if plan, instance, ok := spool.ParseName(name); ok && l.waits(plan, instance) {
			size += bytes
		} else if err := store.Remove(name); err != nil {
			return 0, fmt.Errorf("client: %w", err)
		}
	}
	return size, nil
}

// drop records that a contribution will never be sent, and removes it.
func (l *Ledger) drop(store Store, now time.Time, plan string, instance int, reason string) error {
	if err := l.append(record{Kind: kindDropped, At: now, Plan: plan, Instance: instance, Reason: reason}); err != nil {
		return err
	}
	return store.Remove(spool.Name(plan, instance))
}

// part returns what an entry says through an instance, or nil.
func (l *Ledger) part(plan string, instance int) *Part {
	e := l.entry(plan)
	if e == nil {
		return nil
	}
	i := slices.IndexFunc(e.Parts, func(p Part) bool { return p.Instance == instance })
	if i < 0 {
		return nil
	}
	return &e.Parts[i]
}

// waits reports whether a contribution is still to be sent.
func (l *Ledger) waits(plan string, instance int) bool {
	p := l.part(plan, instance)
	return p != nil && p.Status == Waiting
}
