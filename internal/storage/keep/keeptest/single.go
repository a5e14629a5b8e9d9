package keeptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// names: a shelf is made once, ever; Open makes nothing; main is there and stays.
func names(tb testing.TB, e Engine) {
	d, store, s := made(tb, e)
	ctx := tb.Context()
	_, err := store.Open(ctx, "other")
	want(tb, "Open of a shelf that nobody made", err, "missing")
	want(tb, "Drop of a shelf that nobody made", store.Drop(ctx, "other"), "missing")
	_, err = store.Create(ctx, "other")
	want(tb, "Create of what was asked for before", err, "done")
	_, err = store.Create(ctx, keep.Main)
	if err == nil {
		tb.Fatal("main is made a second time")
	}
	if err := store.Drop(ctx, keep.Main); err == nil {
		tb.Fatal("main is dropped")
	}
	_, err = store.Open(ctx, keep.Main)
	must(tb, "Open of main", err)
	for _, name := range []string{"", "a/b", "..", "a b", "ä", strings.Repeat("n", 129)} {
		if _, err := store.Create(ctx, name); err == nil {
			tb.Fatalf("%q passes for a name", name)
		}
	}
	longest := strings.Repeat("n", 128)
	_, err = store.Create(ctx, longest)
	must(tb, "Create of the longest name", err)
	_, err = s.Insert(ctx, keep.Row{Table: 1, Key: "k"})
	must(tb, "Insert", err)
	must(tb, "Drop", store.Drop(ctx, "shelf"))
	for round := range 2 { // and again after a restart
		_, err = store.Create(ctx, "shelf")
		want(tb, "Create of a dropped name", err, "dropped")
		_, err = store.Open(ctx, "shelf")
		want(tb, "Open of a dropped name", err, "dropped")
		must(tb, "Drop again", store.Drop(ctx, "shelf"))
		list, err := store.List(ctx)
		if must(tb, "List", err); !slices.Equal(list, []string{longest, "other"}) {
			tb.Fatalf("%d shelves are listed: %.20q", len(list), list)
		}
		used, _, err := store.Usage(ctx)
		if must(tb, "Usage", err); used < 0 {
			tb.Fatalf("the store takes %d bytes", used)
		}
		if round == 0 {
			must(tb, "Close", store.Close())
			store = open(tb, d)
			defer store.Close()
		}
	}
}

// keys: any bytes make a key, and no two keys are one.
func keys(tb testing.TB, e Engine) {
	_, _, s := made(tb, e)
	ctx := tb.Context()
	hostile := []string{"\x00", "\x00\x00", "\x00a", "a", "a\x00", "a\x00b", "a\xff", "\xc3\x28", "\xed\xa0\x80", "é", "e\u0301", "%", "_", "'", "\\x61", "\\", "\xfe", "\xff", "\xff\x00", "\xff\xff",
		strings.Repeat("\x00", keep.MaxKey), strings.Repeat("\xff", keep.MaxKey), strings.Repeat("k", keep.MaxKey), strings.Repeat("k", keep.MaxKey-1)}
	for _, key := range hostile {
		again, err := s.Insert(ctx, keep.Row{Table: 3, Key: key, Value: []byte(key)})
		if err != nil || again {
			tb.Fatalf("key %.20q of %d bytes: again %t, %v", key, len(key), again, err)
		}
	}
	sorted := slices.Sorted(slices.Values(hostile))
	for _, prefix := range append([]string{""}, hostile...) {
		var got, due []string
		must(tb, "Each", s.Each(ctx, 3, prefix, func(key string, value []byte) error {
			if string(value) != key {
				return fmt.Errorf("under %.20q stands %.20q", key, value)
			}
			got = append(got, key)
			return nil
		}))
		for _, key := range sorted {
			if strings.HasPrefix(key, prefix) {
				due = append(due, key)
			}
		}
		if !slices.Equal(got, due) {
			tb.Fatalf("keys under %.20q: %.20q and not %.20q", prefix, got, due)
		}
	}
	for _, other := range []keep.Table{1, 2, 4, 15} {
		if rows := all(tb, s, other); len(rows) != 0 {
			tb.Fatalf("table %d has rows of another: %d", other, len(rows))
		}
	}
}

// bounds: what is as large as it may be is kept whole, and one byte more is refused.
func bounds(tb testing.TB, e Engine) {
	_, _, s := made(tb, e)
	ctx := tb.Context()
	largest := bytes.Repeat([]byte("0123456789abcde\x00"), keep.MaxValue/16)
	_, err := s.Insert(ctx, keep.Row{Table: 1, Key: "largest", Tag: 1, Value: largest})
	must(tb, "Insert of the largest row", err)
	must(tb, "Update with the largest row", s.Update(ctx, func(tx keep.Tx) error {
		tx.Put(2, "largest", largest)
		return nil
	}))
	for t := keep.Table(1); t <= 2; t++ {
		value, there, err := s.Get(ctx, t, "largest")
		if err != nil || !there || !bytes.Equal(value, largest) {
			tb.Fatalf("the largest row came back with %d bytes: %t, %v", len(value), there, err)
		}
	}
	again, err := s.Insert(ctx, keep.Row{Table: 1, Key: "largest", Tag: 1, Value: largest})
	if err != nil || !again {
		tb.Fatalf("the largest row again: %t, %v", again, err)
	}
	larger := make([]byte, keep.MaxValue+1)
	half := larger[:keep.MaxValue/2+64<<10]
	for what, rows := range map[string][]keep.Row{
		"nothing":                  nil,
		"a value too large":        {{Table: 1, Key: "k", Value: larger}},
		"a key too long":           {{Table: 1, Key: strings.Repeat("k", keep.MaxKey+1)}},
		"a key of 64 KiB":          {{Table: 1, Key: strings.Repeat("k", 64<<10)}},
		"no key":                   {{Table: 1}},
		"table 0":                  {{Table: 0, Key: "k"}},
		"table 16":                 {{Table: 16, Key: "k"}},
		"a key twice":              {{Table: 1, Key: "k"}, {Table: 1, Key: "k"}},
		"a good row and a bad one": {{Table: 1, Key: "k"}, {Table: 1}},
		"a call too large":         {{Table: 1, Key: "k", Value: half}, {Table: 1, Key: "l", Value: half}},
	} {
		_, err := s.Insert(ctx, rows...)
		want(tb, "Insert of "+what, err, "refused")
		if what == "nothing" || what == "a key twice" {
			continue
		}
		err = s.Update(ctx, func(tx keep.Tx) error {
			for _, r := range rows {
				tx.Put(r.Table, r.Key, r.Value)
			}
			return nil
		})
		want(tb, "Update with "+what, err, "refused")
	}
	if rows := all(tb, s, 1); len(rows) != 1 {
		tb.Fatalf("what was refused left rows: %d", len(rows))
	}
	for _, key := range []string{"", strings.Repeat("k", keep.MaxKey+1)} {
		_, _, err := s.Get(ctx, 1, key)
		want(tb, "Get of no key", err, "refused")
		want(tb, "Update that reads no key", s.Update(ctx, func(tx keep.Tx) error {
			tx.Put(1, "k", nil)
			tx.Get(1, key)
			return nil
		}), "refused")
	}
	if _, there, err := s.Get(ctx, 1, "k"); there || err != nil {
		tb.Fatalf("an Update whose read failed wrote: %t, %v", there, err)
	}
}

// refusals: an Insert of which anything is taken writes nothing, and says what it met.
func refusals(tb testing.TB, e Engine) {
	_, _, s := made(tb, e)
	ctx := tb.Context()
	row := func(key, value string, tag uint32) keep.Row {
		return keep.Row{Table: 1, Key: key, Tag: tag, Value: []byte(value)}
	}
	insert := func(what string, again bool, word string, rows ...keep.Row) {
		tb.Helper()
		told, err := s.Insert(ctx, rows...)
		if kind(err) != word || told != again {
			tb.Fatalf("Insert %s says again %t, %q, and must say %t, %q: %v", what, told, kind(err), again, word, err)
		}
	}
	insert("of three rows", false, "done", row("a", "1", 7), row("b", "2", 7), keep.Row{Table: 2, Key: "a", Value: []byte("3")})
	insert("of the same", true, "done", row("a", "1", 7), row("b", "2", 7), keep.Row{Table: 2, Key: "a", Value: []byte("3")})
	insert("of some of them, in another order", true, "done", row("b", "2", 7), row("a", "1", 7))
	insert("of another value", false, "taken", row("a", "2", 7))
	insert("of another tag", false, "taken", row("a", "1", 8))
	insert("of one that is there and one that is not", false, "taken", row("a", "1", 7), row("c", "1", 7))
	insert("of one that is not there and one that is taken", false, "taken", row("c", "1", 7), row("a", "9", 7))
	must(tb, "Update", s.Update(ctx, func(tx keep.Tx) error {
		tx.Put(1, "b", []byte("2"))
		tx.Put(1, "p", []byte("5"))
		tx.Delete(1, "a")
		return nil
	}))
	insert("of the same as an Update put", false, "taken", row("p", "5", 0))
	insert("of a row that an Update put again", false, "taken", row("b", "2", 7))
	insert("under a key that was deleted", false, "done", row("a", "9", 7))
	if rows := all(tb, s, 1); len(rows) != 3 || rows["c"] != "" || rows["a"] != "9" {
		tb.Fatalf("rows are %q", rows)
	}
	for tag, due := range map[uint32]int{7: 1, 8: 0, 0: 0} {
		if n, err := s.Count(ctx, 1, tag); n != due || err != nil {
			tb.Fatalf("of tag %d there are %d and not %d: %v", tag, n, due, err)
		}
	}
	must(tb, "Seal", s.Seal(ctx))
	must(tb, "Seal again", s.Seal(ctx))
	insert("behind Seal", false, "sealed", row("n", "1", 7))
	insert("of two rows behind Seal", false, "sealed", row("n", "1", 7), row("o", "1", 7))
	insert("of the same behind Seal", false, "sealed", row("a", "9", 7))
	must(tb, "Update behind Seal", s.Update(ctx, func(tx keep.Tx) error {
		if !tx.Sealed() {
			return errors.New("it does not know that the shelf is sealed")
		}
		tx.Put(1, "after", nil)
		return nil
	}))
	must(tb, "Check", s.Check(ctx))
}

// order: Insert's rows of a sealed shelf come as they were written.
func order(tb testing.TB, e Engine) {
	_, _, s := made(tb, e)
	ctx := tb.Context()
	if err := s.InOrder(ctx, 1, func(string, []byte) error { return nil }); err == nil {
		tb.Fatal("an open shelf has an order")
	}
	var due []string
	for i := range 40 {
		// Within a call and from call to call keys fall.
		rows := []keep.Row{{Table: 1, Key: fmt.Sprintf("k%03d", 999-3*i)}, {Table: 1, Key: fmt.Sprintf("k%03d", 998-3*i)}, {Table: 2, Key: fmt.Sprint(i)}, {Table: 1, Key: fmt.Sprintf("k%03d", 997-3*i)}}
		_, err := s.Insert(ctx, rows...)
		must(tb, "Insert", err)
		due = append(due, rows[0].Key, rows[1].Key, rows[3].Key)
	}
	must(tb, "Seal", s.Seal(ctx))
	must(tb, "Update", s.Update(ctx, func(tx keep.Tx) error {
		tx.Delete(1, due[5])
		tx.Put(1, due[7], []byte("put"))
		tx.Put(1, "new", nil)
		return nil
	}))
	due = slices.Delete(slices.Delete(due, 7, 8), 5, 6)
	for range 2 {
		var got []string
		must(tb, "InOrder", s.InOrder(ctx, 1, func(key string, _ []byte) error {
			got = append(got, key)
			if _, _, err := s.Get(ctx, 1, key); err != nil {
				return err
			}
			return s.Update(ctx, func(tx keep.Tx) error { tx.Put(3, key, nil); return nil })
		}))
		if !slices.Equal(got, due) {
			tb.Fatalf("the order is %q and not %q", got, due)
		}
	}
	if len(all(tb, s, 3)) != len(due) {
		tb.Fatal("what a reader of the order wrote is not there")
	}
	want(tb, "InOrder that its caller ends", s.InOrder(ctx, 1, func(string, []byte) error { return errOwn }), "own")
	want(tb, "Each that its caller ends", s.Each(ctx, 1, "", func(string, []byte) error { return errOwn }), "own")
}

// values: what is returned is the caller's, and what was given may be changed afterwards.
func values(tb testing.TB, e Engine) {
	_, _, s := made(tb, e)
	ctx := tb.Context()
	given := []byte("value")
	_, err := s.Insert(ctx, keep.Row{Table: 1, Key: "i", Value: given})
	must(tb, "Insert", err)
	must(tb, "Update", s.Update(ctx, func(tx keep.Tx) error { tx.Put(1, "u", given); return nil }))
	clear(given)
	for range 2 {
		for _, key := range []string{"i", "u"} {
			value, _, err := s.Get(ctx, 1, key)
			if err != nil || string(value) != "value" {
				tb.Fatalf("under %s stands %q: %v", key, value, err)
			}
			clear(value)
			must(tb, "Update", s.Update(ctx, func(tx keep.Tx) error {
				value, _, err := tx.Get(1, key)
				clear(value)
				return err
			}))
		}
		must(tb, "Each", s.Each(ctx, 1, "", func(_ string, value []byte) error { clear(value); return nil }))
	}
	value, there, err := s.Get(ctx, 1, "none")
	if value != nil || there || err != nil {
		tb.Fatalf("a row that is not there: %q, %t, %v", value, there, err)
	}
}

// calls returns all calls of a shelf, by name.
func calls(s keep.Shelf) map[string]func(context.Context) error {
	none := func(string, []byte) error { return nil }
	return map[string]func(context.Context) error{
		"Get":     func(ctx context.Context) error { _, _, err := s.Get(ctx, 1, "k"); return err },
		"Each":    func(ctx context.Context) error { return s.Each(ctx, 1, "", none) },
		"InOrder": func(ctx context.Context) error { return s.InOrder(ctx, 1, none) },
		"Count":   func(ctx context.Context) error { _, err := s.Count(ctx, 1, 1); return err },
		"Insert":  func(ctx context.Context) error { _, err := s.Insert(ctx, keep.Row{Table: 1, Key: "k"}); return err },
		"Update": func(ctx context.Context) error {
			return s.Update(ctx, func(tx keep.Tx) error { tx.Put(1, "u", nil); return nil })
		},
		"Secret": func(ctx context.Context) error { _, err := s.Secret(ctx, "p"); return err },
		"Check":  func(ctx context.Context) error { return s.Check(ctx) },
		"Seal":   func(ctx context.Context) error { return s.Seal(ctx) },
	}
}

// contexts: a context that has ended is ErrUnavailable and its own error, and does no harm.
func contexts(tb testing.TB, e Engine) {
	_, store, s := made(tb, e)
	over, end := context.WithCancel(tb.Context())
	end()
	every := calls(s)
	every["Create"] = func(ctx context.Context) error { _, err := store.Create(ctx, "new"); return err }
	every["List"] = func(ctx context.Context) error { _, err := store.List(ctx); return err }
	every["Drop"] = func(ctx context.Context) error { return store.Drop(ctx, "shelf") }
	every["Usage"] = func(ctx context.Context) error { _, _, err := store.Usage(ctx); return err }
	delete(every, "Drop") // of which nobody knows, and then there is no shelf
	for name, call := range every {
		if err := call(over); !errors.Is(err, keep.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			tb.Fatalf("%s with a context that has ended: %v", name, err)
		}
	}
	_, err := s.Insert(tb.Context(), keep.Row{Table: 1, Key: "k"})
	if err != nil && !errors.Is(err, keep.ErrSealed) {
		tb.Fatalf("Insert after all this: %v", err)
	}
	must(tb, "Update after all this", calls(s)["Update"](tb.Context()))
	must(tb, "Check", s.Check(tb.Context()))
}

// closed: a store that is closed answers nothing.
func closed(tb testing.TB, e Engine) {
	d, store, s := made(tb, e)
	must(tb, "Insert", calls(s)["Insert"](tb.Context()))
	must(tb, "Close", store.Close())
	must(tb, "Close again", store.Close())
	every := calls(s)
	every["Create"] = func(ctx context.Context) error { _, err := store.Create(ctx, "new"); return err }
	every["Open"] = func(ctx context.Context) error { _, err := store.Open(ctx, "shelf"); return err }
	every["List"] = func(ctx context.Context) error { _, err := store.List(ctx); return err }
	every["Drop"] = func(ctx context.Context) error { return store.Drop(ctx, "shelf") }
	for name, call := range every {
		want(tb, name+" of a closed store", call(tb.Context()), "unavailable")
	}
	store = open(tb, d)
	defer store.Close()
	s, err := store.Open(tb.Context(), "shelf")
	must(tb, "Open", err)
	if again, err := s.Insert(tb.Context(), keep.Row{Table: 1, Key: "k"}); err != nil || !again {
		tb.Fatalf("a row from before: again %t, %v", again, err)
	}
}

// secrets: they are a shelf's and a purpose's, and end with it.
func secrets(tb testing.TB, e Engine) {
	d, store, s := made(tb, e)
	ctx := tb.Context()
	other, err := store.Create(ctx, "other")
	must(tb, "Create", err)
	seen := map[string]bool{}
	for _, s := range []keep.Shelf{s, other} {
		for _, purpose := range []string{"order", "seal", ""} {
			secret, err := s.Secret(ctx, purpose)
			must(tb, "Secret", err)
			again, err := s.Secret(ctx, purpose)
			must(tb, "Secret", err)
			if len(secret) != 32 || !bytes.Equal(secret, again) || seen[string(secret)] {
				tb.Fatalf("a secret of %d bytes, the same again: %t, the same as another: %t", len(secret), bytes.Equal(secret, again), seen[string(secret)])
			}
			seen[string(secret)] = true
		}
	}
	must(tb, "Seal", s.Seal(ctx))
	must(tb, "Close", store.Close())
	store = open(tb, d)
	defer store.Close()
	s, err = store.Open(ctx, "shelf")
	must(tb, "Open", err)
	if secret, err := s.Secret(ctx, "order"); err != nil || !seen[string(secret)] {
		tb.Fatalf("after a restart the secret is another one: %v", err)
	}
	must(tb, "Drop", store.Drop(ctx, "shelf"))
	_, err = s.Secret(ctx, "order")
	want(tb, "the secret of a dropped shelf", err, "dropped")
}
