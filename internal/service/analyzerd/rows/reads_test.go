package rows

import (
	"context"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Registering a plan reads as many rows after a hundred others as after three.
func TestRegisteringReadsNoEarlierPlan(t *testing.T) {
	s := opened(t, databases["folder"](t))
	c := &counting{Shelf: s.main}
	s.main = c
	reads := func(i int) int {
		c.reads = 0
		register(t, s, i)
		return c.reads
	}
	for i := range 3 {
		reads(i)
	}
	few := reads(3)
	for i := range 100 {
		reads(4 + i)
	}
	if many := reads(200); many != few || few == 0 {
		t.Errorf("it reads %d rows after three plans, and %d after a hundred", few, many)
	}
	c.reads = 0
	check(t, s.CheckLedger(t.Context()))
	if c.reads != 105 {
		t.Errorf("a check of the whole ledger reads %d rows", c.reads) // the twin: who reads all is seen
	}
}

// counting is a shelf that counts the rows that are read.
type counting struct {
	keep.Shelf
	reads int
}

func (c *counting) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	c.reads++
	return c.Shelf.Get(ctx, t, key)
}

func (c *counting) Each(ctx context.Context, t keep.Table, prefix string, fn func(string, []byte) error) error {
	return c.Shelf.Each(ctx, t, prefix, func(key string, value []byte) error { c.reads++; return fn(key, value) })
}

func (c *counting) Update(ctx context.Context, fn func(keep.Tx) error) error {
	return c.Shelf.Update(ctx, func(tx keep.Tx) error { return fn(countingTx{tx, c}) })
}

type countingTx struct {
	keep.Tx
	c *counting
}

func (x countingTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	x.c.reads++
	return x.Tx.Get(t, key)
}

func (x countingTx) Each(t keep.Table, prefix string, fn func(string, []byte) error) error {
	return x.Tx.Each(t, prefix, func(key string, value []byte) error { x.c.reads++; return fn(key, value) })
}
