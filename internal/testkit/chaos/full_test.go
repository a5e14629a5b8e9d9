package chaos

import (
	"context"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// narrow is the store of an aggregator on a disk that is full after so many more writes: nothing
// of a write that does not fit is kept, as the engine promises.
type narrow struct {
	keep.Store
	left *int  // negative: there is room
	lies *bool // a twin: what came and does not fit is passed over
}

func (d narrow) full() bool {
	if *d.left < 0 {
		return false
	}
	if *d.left == 0 {
		seen.add("disk of an aggregator full")
		return true
	}
	*d.left--
	return false
}

func (d narrow) Open(ctx context.Context, shelf string) (keep.Shelf, error) {
	s, err := d.Store.Open(ctx, shelf)
	return narrowShelf{s, d}, err
}

func (d narrow) Create(ctx context.Context, shelf string) (keep.Shelf, error) {
	if d.full() {
		return nil, keep.ErrFull
	}
	s, err := d.Store.Create(ctx, shelf)
	return narrowShelf{s, d}, err
}

func (d narrow) Drop(ctx context.Context, shelf string) error {
	err := d.Store.Drop(ctx, shelf) // which makes room
	if err == nil && *d.left >= 0 {
		*d.left = max(*d.left, 1)
	}
	return err
}

type narrowShelf struct {
	keep.Shelf
	of narrow
}

func (s narrowShelf) Insert(ctx context.Context, rows ...keep.Row) (bool, error) {
	if s.of.full() {
		if *s.of.lies {
			return false, nil
		}
		return false, keep.ErrFull
	}
	return s.Shelf.Insert(ctx, rows...)
}

func (s narrowShelf) Seal(ctx context.Context) error {
	if s.of.full() {
		return keep.ErrFull
	}
	return s.Shelf.Seal(ctx)
}

// Update runs fn, which may draw what is then not kept.
func (s narrowShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	return s.Shelf.Update(ctx, func(tx keep.Tx) error {
		n := &counting{Tx: tx}
		if err := fn(n); err != nil {
			return err
		}
		if n.written && s.of.full() {
			return keep.ErrFull
		}
		return nil
	})
}

// counting tells whether anything is written.
type counting struct {
	keep.Tx
	written bool
}

func (c *counting) Put(t keep.Table, key string, value []byte) {
	c.written = true
	c.Tx.Put(t, key, value)
}

func (c *counting) Delete(t keep.Table, key string) {
	c.written = true
	c.Tx.Delete(t, key)
}
