package keeptest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// aside: one row of Insert's that has changed costs that row alone, once somebody sets it aside. It is
// counted, its key is free, and a sealed shelf stays sealed.
func aside(tb testing.TB, e Engine) {
	for _, sealed := range []bool{false, true} {
		d, store, s := made(tb, e)
		if d.Spoil == nil {
			return
		}
		other := s
		if e.Shared {
			second := open(tb, d)
			tb.Cleanup(func() { second.Close() })
			var err error
			other, err = second.Open(tb.Context(), "shelf")
			must(tb, "Open", err)
		}
		for i := range 6 {
			_, err := s.Insert(tb.Context(), rowOf(i))
			must(tb, "Insert", err)
		}
		secret, err := s.Secret(tb.Context(), "purpose")
		must(tb, "Secret", err)
		if sealed {
			must(tb, "Seal", s.Seal(tb.Context()))
		}
		lost := func(n uint64) {
			tb.Helper()
			if is, err := store.Lost(tb.Context(), "shelf"); is != n || err != nil {
				tb.Fatalf("%d rows are lost and %d must be: %v", is, n, err)
			}
		}
		s, err = store.SetAside(tb.Context(), "shelf")
		must(tb, "SetAside of a whole shelf", err)
		holds(tb, s, []int{0, 1, 2, 3, 4, 5}, sealed)
		lost(0)
		d.Spoil(tb, "shelf", 1, rowOf(2).Key)
		_, _, err = s.Get(tb.Context(), 1, rowOf(2).Key)
		want(tb, "Get of a row that has changed", err, "damaged")
		want(tb, "Check", s.Check(tb.Context()), "damaged")
		none := func(string, []byte) error { return nil }
		want(tb, "Each", s.Each(tb.Context(), 1, "", none), "damaged")
		if sealed {
			want(tb, "InOrder", s.InOrder(tb.Context(), 1, none), "damaged")
		}
		for range 2 {
			s, err = store.SetAside(tb.Context(), "shelf")
			must(tb, "SetAside", err)
			holds(tb, s, []int{0, 1, 3, 4, 5}, sealed)
			lost(1)
		}
		if e.Shared { // another process goes on
			holds(tb, other, []int{0, 1, 3, 4, 5}, sealed)
		}
		must(tb, "Close", store.Close())
		store = open(tb, d)
		tb.Cleanup(func() { store.Close() })
		s, err = store.Open(tb.Context(), "shelf")
		must(tb, "Open behind SetAside", err)
		holds(tb, s, []int{0, 1, 3, 4, 5}, sealed)
		lost(1)
		if now, err := s.Secret(tb.Context(), "purpose"); string(now) != string(secret) || err != nil {
			tb.Fatalf("the shelf has another secret: %v", err)
		}
		again, err := s.Insert(tb.Context(), rowOf(2))
		if sealed {
			want(tb, "Insert behind Seal", err, "sealed")
		} else if again || err != nil {
			tb.Fatalf("what was set aside comes again: %t, %v", again, err)
		} else {
			must(tb, "Seal", s.Seal(tb.Context()))
			holds(tb, s, []int{0, 1, 3, 4, 5, 2}, true)
			lost(1)
		}
		must(tb, "Drop", store.Drop(tb.Context(), "shelf"))
		_, err = store.SetAside(tb.Context(), "shelf")
		want(tb, "SetAside of a dropped shelf", err, "dropped")
		_, err = store.Lost(tb.Context(), "shelf")
		want(tb, "Lost of a dropped shelf", err, "dropped")
	}
}

// notAside: a mark that an Update has put is never set aside, nor is anything beside it, and asking
// changes nothing.
func notAside(tb testing.TB, e Engine) {
	for _, spoiled := range []string{rowOf(1).Key, "mark"} {
		d, store, s := made(tb, e)
		if d.Spoil == nil {
			return
		}
		for i := range 3 {
			_, err := s.Insert(tb.Context(), rowOf(i))
			must(tb, "Insert", err)
		}
		must(tb, "Update", s.Update(tb.Context(), func(tx keep.Tx) error { tx.Put(1, "mark", []byte("spent")); return nil }))
		d.Spoil(tb, "shelf", 1, spoiled)
		_, err := store.SetAside(tb.Context(), "shelf")
		want(tb, "SetAside of a shelf with a mark", err, "damaged")
		_, err = store.SetAside(tb.Context(), keep.Main)
		want(tb, "SetAside of main", err, "damaged")
		_, err = store.SetAside(tb.Context(), "none")
		want(tb, "SetAside of no shelf", err, "missing")
		must(tb, "Close", store.Close())
		store = open(tb, d)
		tb.Cleanup(func() { store.Close() })
		s, err = store.Open(tb.Context(), "shelf")
		if err == nil { // an engine that reads everything at a start refuses there
			_, _, err = s.Get(tb.Context(), 1, spoiled)
		}
		want(tb, "a shelf of which nothing was set aside", err, "damaged")
	}
}

func rowOf(i int) keep.Row {
	return keep.Row{Table: 1, Key: fmt.Sprint("row ", i), Tag: uint32(i % 2), Value: fmt.Appendf(nil, "the value of row %d", i)}
}

// holds fails where a shelf has other rows than these, however it is read.
func holds(tb testing.TB, s keep.Shelf, rows []int, sealed bool) {
	tb.Helper()
	var keys, got []string
	counts := map[uint32]int{}
	for _, i := range rows {
		keys = append(keys, rowOf(i).Key)
		counts[rowOf(i).Tag]++
	}
	if sealed {
		must(tb, "InOrder", s.InOrder(tb.Context(), 1, func(key string, _ []byte) error { got = append(got, key); return nil }))
		if !slices.Equal(got, keys) {
			tb.Fatalf("in order stand %q and must %q", got, keys)
		}
	}
	there := all(tb, s, 1)
	for _, i := range rows {
		if there[rowOf(i).Key] != string(rowOf(i).Value) {
			tb.Fatalf("row %d is lost", i)
		}
	}
	for tag := range uint32(2) {
		if n, err := s.Count(tb.Context(), 1, tag); n != counts[tag] || err != nil || len(there) != len(rows) {
			tb.Fatalf("%d rows have tag %d and must %d, of %d: %v", n, tag, counts[tag], len(there), err)
		}
	}
	must(tb, "Check", s.Check(tb.Context()))
}
