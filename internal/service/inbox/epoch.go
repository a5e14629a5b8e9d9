// Package inbox keeps an entry's collection on disk: acknowledged contributions, one of each respondent, from its
// opening to an empty inbox. Used by internal/service/shufflerd.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/admission"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/plan"
)

// Options are what an epoch is made of.
type Options struct {
	serve.Common
	Rows  *rows.Store
	Quota *rows.Quota
	Name  string // of the entry, unique in the store

	// How respondents are told apart, where the plan demands no single-use tokens.
	Bearers      *serve.Bearers
	Certificates bool

	// Kept is told of every contribution to crowds whose sizes are public.
	Kept func(context.Context)
}

// Mark is how far an epoch has come, and lasts.
type Mark struct {
	Closed bool   `json:"closed"`
	Purged bool   `json:"purged"`         // contributions, and who sent them, are gone, or go before anything else is done
	Lost   uint64 `json:"lost,omitempty"` // contributions that were damaged on disk and set aside

	row []byte // as it is on disk; nil: there is none
}

// Epoch is the collection of one plan at the entry of one of its instances. Contributions
// come in from many requests at once; one caller at a time closes and ends it.
type Epoch struct {
	// Set by Open, and not changed after it.
	o     Options
	plan  plan.Plan
	rules admission.Rules
	auth  serve.Authenticator // its secret goes with the inbox

	mu      sync.Mutex
	inbox   keep.Shelf               // under mu; nil if an earlier process has emptied it
	mark    Mark                     // under mu; written by the goroutine that closes and ends
	emptied bool                     // under mu: the inbox is gone from the disk
	covers  map[serve.Respondent]int // under mu; kept in this run, of each respondent who sent any
}

// Open makes or finds the inbox of an epoch and the secret that its respondents are
// known by. The error is keep.ErrDamaged where the disk does not give it back.
func Open(ctx context.Context, p plan.Plan, instance int, o Options) (*Epoch, error) {
	e := &Epoch{o: o, plan: p, auth: serve.Authenticator{Bearers: o.Bearers, Certificates: o.Certificates}, covers: map[serve.Respondent]int{}}
	var err error
	if e.rules, err = admission.NewRules(p, instance); err != nil {
		return nil, err
	}
	if text := p.Route.Instances()[instance].Hops[0].Tokens; text != "" {
		key, err := token.ParsePublicKey(text)
		if err != nil {
			return nil, err
		}
		e.auth.Tokens, e.auth.Spent = &key, token.Context{Plan: e.rules.Plan, Instance: e.rules.Instance}
	}
	if err := e.Follow(ctx); err != nil {
		return nil, err
	}
	if e.mark.Purged {
		e.emptied = true
		return e, o.Rows.Forget(ctx, ShelfName(o.Name))
	}
	if e.inbox, err = o.Rows.Shelf(ctx, ShelfName(o.Name)); err != nil {
		return nil, err
	}
	// Respondents are known by hashes that nobody can make any more when the inbox
	// is dropped.
	secret, err := e.inbox.Secret(ctx, "respondents")
	if err != nil {
		return nil, err
	}
	e.auth.Secret = serve.NewSecret(secret)
	return e, nil
}

// Follow takes up the mark as it is, which another process may have written.
func (e *Epoch) Follow(ctx context.Context) error {
	value, there, err := e.o.Rows.Get(ctx, rows.Epochs, e.o.Name)
	if err != nil || !there {
		return err
	}
	m, err := parseMark(value)
	if err != nil {
		return fmt.Errorf("inbox: the mark of %s is damaged: %w", e.o.Name, err)
	}
	m.row = value
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mark = m
	return nil
}

// ShelfName returns the name of the shelf of an entry's contributions.
func ShelfName(name string) string { return "in-" + name }

// parseMark reads a Mark.
func parseMark(value []byte) (Mark, error) {
	var m Mark
	if err := json.Unmarshal(value, &m); err != nil {
		return Mark{}, errors.New("not JSON of an epoch")
	}
	if m.Purged && !m.Closed {
		return Mark{}, errors.New("it was emptied before it was closed")
	}
	return m, nil
}

// Mark returns how far the epoch has come.
func (e *Epoch) Mark() Mark {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mark
}

// keepMark makes the next mark last.
func (e *Epoch) keepMark(ctx context.Context, next Mark) error {
	value := shelves.Marshal(next)
	if err := e.o.Rows.Set(ctx, rows.Epochs, e.o.Name, value, e.Mark().row); err != nil {
		return err
	}
	next.row = value
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mark = next
	return nil
}

// Rules returns those of the contributions.
func (e *Epoch) Rules() admission.Rules { return e.rules }

// shelf returns where contributions lie until the epoch is over; nil if an earlier process has
// emptied it.
func (e *Epoch) shelf() keep.Shelf {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.inbox
}

// Count returns how many contributions a crowd has, 0 where nobody knows.
func (e *Epoch) Count(ctx context.Context, crowd uint32) int {
	shelf := e.shelf()
	if shelf == nil {
		return 0
	}
	n, _ := shelf.Count(ctx, contributions, crowd)
	return n
}

// Lost returns how many contributions were damaged on disk and set aside.
func (e *Epoch) Lost(ctx context.Context) uint64 {
	if m := e.Mark(); e.shelf() == nil || m.Purged {
		return m.Lost
	}
	n, _ := e.o.Rows.Lost(ctx, ShelfName(e.o.Name)) // 0 where nobody knows
	return n
}
