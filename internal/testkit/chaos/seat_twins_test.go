package chaos

import (
	"context"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

const (
	leaseIgnored = "a lease that is ignored"
	inMemory     = "a duplicate is looked for in memory alone"
	unheard      = "what others have withdrawn is not read"
	stubborn     = "nothing is set aside"
)

// patienceWith returns how long a withdrawal is waited for: where nobody reads it, nothing comes of waiting.
func patienceWith(twin string) time.Duration {
	if twin == unheard {
		return 5 * time.Second
	}
	return patience
}

var seatTwins = []struct{ name, role, want string }{
	{"none: what takes longer than a lease is held by one process all the while", "", ""},
	{leaseIgnored, "leader", "[3-9] jobs of 2 crowds"},
	{inMemory, "leader", "has [23] reports acknowledged"},
	{inMemory, "issuer", "has got [23] tokens"},
	{unheard, "helper", "helper#[02] goes on with a plan that is withdrawn"},
}

// lonely is the store of a process with a bug: it leaves others out.
type lonely struct {
	keep.Store
	bug, suffix string
}

func (l *lonely) Open(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == leaseIgnored && shelf == "steps" {
		shelf += "-" + l.suffix
	}
	s, err := l.Store.Open(ctx, shelf)
	return l.around(shelf, s), err
}

func (l *lonely) Create(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == leaseIgnored && shelf == "steps" {
		shelf += "-" + l.suffix
	}
	s, err := l.Store.Create(ctx, shelf)
	return l.around(shelf, s), err
}

func (l *lonely) SetAside(ctx context.Context, shelf string) (keep.Shelf, error) {
	if l.bug == stubborn {
		return nil, keep.ErrDamaged
	}
	return l.Store.SetAside(ctx, shelf)
}

func (l *lonely) around(name string, s keep.Shelf) keep.Shelf {
	switch {
	case l.bug == unheard && name == keep.Main:
		return deaf{s}
	case l.bug != inMemory || s == nil || name == keep.Main:
		return s
	}
	return &forgetful{Shelf: s, suffix: l.suffix}
}

// deaf is a main shelf on which no withdrawal is found.
type deaf struct{ keep.Shelf }

func (d deaf) Each(ctx context.Context, t keep.Table, prefix string, fn func(key string, value []byte) error) error {
	if t == 3 {
		return nil
	}
	return d.Shelf.Each(ctx, t, prefix, fn)
}

// forgetful is a shelf in whose first table a process finds what it has written itself alone.
type forgetful struct {
	keep.Shelf
	suffix string
}

func (f *forgetful) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	if t == 1 {
		key += f.suffix
	}
	return f.Shelf.Get(ctx, t, key)
}

func (f *forgetful) Insert(ctx context.Context, rows ...keep.Row) (bool, error) {
	rows = slices.Clone(rows)
	for i := range rows {
		if rows[i].Table == 1 {
			rows[i].Key += f.suffix
		}
	}
	return f.Shelf.Insert(ctx, rows...)
}
