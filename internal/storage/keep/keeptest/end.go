package keeptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// drops: behind Drop every call is ErrDropped, and those under way end.
func drops(tb testing.TB, e Engine) {
	d, store, s := made(tb, e)
	seats := []keep.Shelf{s, s}
	if e.Shared {
		other := open(tb, d)
		tb.Cleanup(func() { other.Close() })
		var err error
		seats[1], err = other.Open(tb.Context(), "shelf")
		must(tb, "Open", err)
	}
	var begun atomic.Int32
	var dropped atomic.Bool
	together(tb, 9, func(i int) error {
		if i == 8 {
			for begun.Load() < 16 {
				time.Sleep(time.Millisecond)
			}
			defer dropped.Store(true)
			return store.Drop(tb.Context(), "shelf")
		}
		for r := 0; ; r++ {
			var err error
			late := dropped.Load()
			if i < 4 {
				_, err = seats[i%2].Insert(tb.Context(), keep.Row{Table: 1, Key: fmt.Sprint(i, r)})
			} else {
				err = seats[i%2].Update(tb.Context(), func(tx keep.Tx) error { tx.Put(2, fmt.Sprint(i, r), nil); return nil })
			}
			if errors.Is(err, keep.ErrDropped) {
				return nil
			}
			if err != nil {
				return err
			}
			if late {
				return errors.New("a write that began behind Drop is taken")
			}
			begun.Add(1)
		}
	})
	for _, s := range seats {
		for name, call := range calls(s) {
			want(tb, name+" of a dropped shelf", call(tb.Context()), "dropped")
		}
	}
}

// ended: contexts end while calls are under way. Nobody knows then, and a repeat tells.
func ended(tb testing.TB, e Engine) {
	const callers, rounds = 8, 20
	seats := seats(tb, e, callers)
	together(tb, callers, func(i int) error {
		for r := range rounds {
			rows := []keep.Row{{Table: 1, Key: fmt.Sprint(i, r)}, {Table: 2, Key: fmt.Sprint(i, r)}}
			ctx, end := context.WithTimeout(tb.Context(), time.Duration(r)*100*time.Microsecond)
			_, err := seats[i].Insert(ctx, rows...)
			end()
			if err == nil {
				continue
			}
			if !errors.Is(err, keep.ErrUnavailable) {
				return fmt.Errorf("Insert with a context that ends: %w", err)
			}
			if _, err = seats[i].Insert(tb.Context(), rows...); err != nil {
				return fmt.Errorf("Insert again: %w", err)
			}
		}
		return nil
	})
	if a, b := len(all(tb, seats[0], 1)), len(all(tb, seats[0], 2)); a != callers*rounds || b != a {
		tb.Fatalf("of %d rows %d and %d are there", callers*rounds, a, b)
	}
}

// Killed holds an engine to one part of Run, for tests that kill in a way of their own: what was
// acknowledged outlives a kill, calls are whole, and no Update ran twice.
func Killed(tb testing.TB, e Engine) {
	const callers = 6
	d := e.New(tb)
	if d.Kill == nil {
		return
	}
	store := open(tb, d)
	s, err := store.Create(tb.Context(), "shelf")
	must(tb, "Create", err)
	acknowledged := make([][]string, callers)
	var done, runs atomic.Int64
	var over atomic.Bool
	together(tb, callers+1, func(i int) error {
		if i == callers {
			for done.Load() < 10*callers {
				time.Sleep(time.Millisecond)
			}
			d.Kill()
			over.Store(true)
			return nil
		}
		for r := 0; !over.Load(); r++ {
			name := fmt.Sprintf("%d %d", i, r)
			var err error
			if (i+r)%2 == 0 {
				_, err = s.Insert(tb.Context(), keep.Row{Table: 1, Key: name}, keep.Row{Table: 2, Key: name})
			} else {
				err = s.Update(tb.Context(), func(tx keep.Tx) error {
					tx.Put(1, name, nil)
					tx.Put(2, name, nil)
					tx.Put(3, fmt.Sprintf("%s run %d", name, runs.Add(1)), nil)
					return nil
				})
			}
			if err != nil {
				return nil // killed
			}
			acknowledged[i] = append(acknowledged[i], name)
			done.Add(1)
		}
		return nil
	})
	store.Close()
	store = open(tb, d)
	defer store.Close()
	s, err = store.Open(tb.Context(), "shelf")
	must(tb, "Open after a kill", err)
	must(tb, "Check after a kill", s.Check(tb.Context()))
	first, second, ran := all(tb, s, 1), all(tb, s, 2), all(tb, s, 3)
	for _, name := range slices.Concat(acknowledged...) {
		if _, there := first[name]; !there {
			tb.Fatalf("%q was acknowledged, and is lost", name)
		}
	}
	updates := map[string]bool{}
	for run := range ran {
		var i, r, n int
		fmt.Sscanf(run, "%d %d run %d", &i, &r, &n)
		if name := fmt.Sprintf("%d %d", i, r); updates[name] {
			tb.Fatalf("the Update of %q is there twice", name)
		} else {
			updates[name] = true
		}
	}
	if len(first) != len(second) {
		tb.Fatalf("half of a call is there: %d and %d rows", len(first), len(second))
	}
}
