package client

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client/internal/journal"
)

// SetTime replaces the clock, and lets waits pass without waiting: the clock is
// then later by so much.
func (c *Client) SetTime(now func() time.Time, wait func(time.Duration)) {
	var waited time.Duration
	c.now = func() time.Time { return now().Add(waited) }
	c.wait = func(ctx context.Context, d time.Duration) error {
		if wait != nil {
			wait(d)
		}
		waited += d
		return ctx.Err()
	}
}

// SetRand replaces the randomness of delays, waits and the choice of instance.
func (c *Client) SetRand(r *rand.Rand) { c.rand = r }

// Kept is the ledger as the client has it in memory.
func (c *Client) Kept() *Ledger { return c.ledger }

// Backstops returns how many the ledger has.
func (l *Ledger) Backstops() int { return len(l.backstops) }

// Compact writes the ledger anew.
func (l *Ledger) Compact() error { return l.journal.Replace(l.compacted()) }

// Lost says what of a ledger is not in another, as far as anything follows from it.
func Lost(before, behind *Ledger) error {
	if before.OptedIn != behind.OptedIn || !before.Since.Equal(behind.Since) {
		return errors.New("another consent")
	}
	if !slices.Equal(before.Studies, behind.Studies) || !maps.EqualFunc(before.backstops, behind.backstops, bytes.Equal) {
		return errors.New("other studies, or backstops")
	}
	if len(before.Entries) != len(behind.Entries) {
		return fmt.Errorf("%d entries of %d", len(behind.Entries), len(before.Entries))
	}
	for i, e := range before.Entries {
		o := behind.Entries[i]
		same := reflect.DeepEqual(e.Backed, o.Backed) && reflect.DeepEqual(e.Statements, o.Statements) && e.At.Equal(o.At) && e.Expires.Equal(o.Expires) && len(e.Parts) == len(o.Parts) &&
			e.Plan == o.Plan && e.Title == o.Title && e.Publisher == o.Publisher && e.Charge == o.Charge && e.Reused == o.Reused && e.Crowd == o.Crowd && e.CrowdName == o.CrowdName && e.Study == o.Study && e.Round == o.Round && e.Covered == o.Covered && e.From.Equal(o.From) && e.Until.Equal(o.Until) && e.Events == o.Events && e.Most == o.Most
		for j, p := range e.Parts {
			same = same && p.Instance == o.Parts[j].Instance && p.Status == o.Parts[j].Status && p.sealed == o.Parts[j].sealed && p.Ended.Equal(o.Parts[j].Ended) && p.Reason == o.Parts[j].Reason
			same = same && (o.Forgotten || reflect.DeepEqual(p.said, o.Parts[j].said))
		}
		if !same {
			return fmt.Errorf("entry %d is %+v, and was %+v", i, o, e)
		}
	}
	return nil
}

// Earlier gives a store the ledger of a device that has opted in and answered so many plans,
// and returns when that was over.
func Earlier(t testing.TB, store Store, plans int) (at time.Time, err error) {
	unlock, err := store.Lock()
	if err != nil {
		return at, err
	}
	defer unlock()
	if err := journal.Make(store); err != nil {
		return at, err
	}
	l, err := replay(nil, append(manyRecords(t, plans), line(record{Kind: kindConsent, At: someTime, OptedIn: true})))
	if err != nil {
		return at, err
	}
	if l.journal, _, _, err = journal.Read(store); err != nil {
		return at, err
	}
	if _, err := readSecret(store, &Ledger{}); err != nil {
		return at, err
	}
	return l.Entries[plans-1].At.Add(time.Hour), l.journal.Replace(l.compacted())
}

// LastVector returns what the newest entry of a ledger says, where that is summed.
func LastVector(store Store) ([]uint64, error) {
	l, err := ReadLedger(store)
	if err != nil {
		return nil, err
	}
	s, err := readSecret(store, l)
	if err != nil {
		return nil, err
	}
	e := l.Entries[len(l.Entries)-1]
	name, err := hex.DecodeString(e.Plan)
	if err != nil {
		return nil, err
	}
	return s.unshut([32]byte(name), e.Parts[0].said.Vector)
}
