package keeptest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// sequences runs the same random calls on the engine and on the reference: whatever a caller
// can see is the same, also after the store was closed and opened again.
func sequences(tb testing.TB, e Engine) {
	rapid.Check(tb, func(t *rapid.T) {
		w := newWorld(tb, t, e)
		defer w.close()
		t.Repeat(map[string]func(*rapid.T){
			"create":  w.create,
			"drop":    w.drop,
			"list":    w.list,
			"insert":  w.insert,
			"insert2": w.insert, // more often than others
			"update":  w.update,
			"update2": w.update,
			"seal":    w.seal,
			"read":    w.read,
			"secret":  w.secret,
			"restart": w.restart,
		})
	})
}

// side is a store and the shelves that were taken from it.
type side struct {
	disk    Disk
	store   keep.Store
	shelves map[string]keep.Shelf
}

type world struct {
	tb      testing.TB
	ctx     context.Context
	sides   [2]*side // the engine's and the reference's
	secrets map[string]string
}

var shelfNames = []string{keep.Main, "a", "b", "B-1_x"}

func newWorld(tb testing.TB, t *rapid.T, e Engine) *world {
	w := &world{tb: tb, ctx: tb.Context(), secrets: map[string]string{}}
	for i, engine := range []Engine{e, reference("")} {
		w.sides[i] = &side{disk: engine.New(tb)}
	}
	w.open(t)
	return w
}

func (w *world) open(t *rapid.T) {
	for _, s := range w.sides {
		store, err := s.disk.Open(w.ctx)
		if err != nil {
			t.Fatalf("the store does not open: %v", err)
		}
		s.store, s.shelves = store, map[string]keep.Shelf{}
	}
	w.both(t, "opening main", func(s *side) string { return s.open(w.ctx, keep.Main) })
}

func (w *world) close() {
	for _, s := range w.sides {
		s.store.Close()
	}
}

func (s *side) open(ctx context.Context, name string) string {
	shelf, err := s.store.Open(ctx, name)
	if err == nil {
		s.shelves[name] = shelf
	}
	return kind(err)
}

// both does the same on both sides and compares what each says of it.
func (w *world) both(t *rapid.T, what string, do func(*side) string) {
	got, want := do(w.sides[0]), do(w.sides[1])
	if got != want {
		t.Fatalf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

func (w *world) create(t *rapid.T) {
	name := rapid.SampledFrom(shelfNames).Draw(t, "name")
	w.both(t, "Create of "+name, func(s *side) string {
		shelf, err := s.store.Create(w.ctx, name)
		if err == nil {
			s.shelves[name] = shelf
		}
		return kind(err)
	})
}

func (w *world) drop(t *rapid.T) {
	name := rapid.SampledFrom(shelfNames).Draw(t, "name")
	if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		return
	}
	w.both(t, "Drop of "+name, func(s *side) string { return kind(s.store.Drop(w.ctx, name)) })
}

func (w *world) list(t *rapid.T) {
	w.both(t, "List", func(s *side) string {
		names, err := s.store.List(w.ctx)
		return fmt.Sprint(names, kind(err))
	})
}

func (w *world) restart(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		return
	}
	for _, s := range w.sides {
		if err := s.store.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	w.open(t)
}

// on does something on a shelf, opened first where it was not.
func (w *world) on(t *rapid.T, what string, do func(keep.Shelf) string) {
	name := rapid.SampledFrom(shelfNames).Draw(t, "shelf")
	if w.sides[1].shelves[name] == nil {
		w.both(t, "Open of "+name, func(s *side) string { return s.open(w.ctx, name) })
	}
	if w.sides[1].shelves[name] == nil {
		return
	}
	w.both(t, what+" on "+name, func(s *side) string { return do(s.shelves[name]) })
}

var (
	tables   = rapid.SampledFrom([]keep.Table{1, 1, 1, 2, 15})
	rowKeys  = rapid.SampledFrom([]string{"a", "a", "a", "a", "a", "a", "ab", "ab", "ab", "abc", "b", "\x00", "a\x00", "a\x00b", "a\xff", "a\xff\xff", "\xff", "\xff\xff", "\xc3\x28", "ä", "%", "_", strings.Repeat("k", keep.MaxKey)})
	prefixes = rapid.SampledFrom([]string{"", "a", "ab", "a\x00", "a\xff", "\xff", "\xff\xff", "\x00", "k", "%", "zz"})
	contents = rapid.SampledFrom([]string{"x", "x", "x", "", "y", "\x00", strings.Repeat("long ", 600)})
	tags     = rapid.SampledFrom([]uint32{1, 1, 1, 0, 1<<32 - 1})
)

func (w *world) insert(t *rapid.T) {
	var rows []keep.Row
	seen := map[place]bool{}
	for range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "rows") {
		at := place{tables.Draw(t, "table"), rowKeys.Draw(t, "key")}
		if !seen[at] {
			rows = append(rows, keep.Row{Table: at.t, Key: at.key, Tag: tags.Draw(t, "tag"), Value: []byte(contents.Draw(t, "value"))})
		}
		seen[at] = true
	}
	again := rapid.Bool().Draw(t, "again")
	w.on(t, fmt.Sprintf("Insert of %d rows, again %t", len(rows), again), func(s keep.Shelf) string {
		told, err := s.Insert(w.ctx, rows...)
		said := fmt.Sprint(told, kind(err))
		if again {
			told, err = s.Insert(w.ctx, rows...)
			said += fmt.Sprint(", then ", told, kind(err))
		}
		return said
	})
}

// pairs says what a reading has seen.
func pairs(each func(fn func(string, []byte) error) error) string {
	var said strings.Builder
	n := 0
	err := each(func(key string, value []byte) error {
		fmt.Fprintf(&said, "%.20q=%.20q,%d ", key, value, len(value))
		clear(value)
		if n++; n > 50 {
			return errOwn
		}
		return nil
	})
	return said.String() + kind(err)
}

func (w *world) update(t *rapid.T) {
	type step struct {
		verb   string
		t      keep.Table
		key    string
		value  string
		prefix string
	}
	var steps []step
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		steps = append(steps, step{rapid.SampledFrom([]string{"put", "put", "delete", "get", "each", "sealed"}).Draw(t, "verb"), tables.Draw(t, "table"), rowKeys.Draw(t, "key"), contents.Draw(t, "value"), prefixes.Draw(t, "prefix")})
	}
	fails := rapid.IntRange(0, 4).Draw(t, "fails") == 0
	w.on(t, fmt.Sprintf("Update of %.200q", steps), func(s keep.Shelf) string {
		var said strings.Builder
		err := s.Update(w.ctx, func(tx keep.Tx) error {
			said.Reset()
			for _, step := range steps {
				switch step.verb {
				case "put":
					tx.Put(step.t, step.key, []byte(step.value))
				case "delete":
					tx.Delete(step.t, step.key)
				case "get":
					value, there, err := tx.Get(step.t, step.key)
					fmt.Fprintf(&said, "%.20q,%d %t %s; ", value, len(value), there, kind(err))
				case "each":
					said.WriteString(pairs(func(fn func(string, []byte) error) error { return tx.Each(step.t, step.prefix, fn) }))
				case "sealed":
					fmt.Fprint(&said, tx.Sealed())
				}
			}
			if fails {
				return errOwn
			}
			return nil
		})
		return said.String() + kind(err)
	})
}

func (w *world) seal(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "rarely") > 0 {
		return
	}
	w.on(t, "Seal", func(s keep.Shelf) string { return kind(s.Seal(w.ctx)) })
}

func (w *world) read(t *rapid.T) {
	table, key, prefix, tag := tables.Draw(t, "table"), rowKeys.Draw(t, "key"), prefixes.Draw(t, "prefix"), tags.Draw(t, "tag")
	w.on(t, fmt.Sprintf("reading table %d, key %.20q, prefix %q, tag %d", table, key, prefix, tag), func(s keep.Shelf) string {
		value, there, err := s.Get(w.ctx, table, key)
		n, failed := s.Count(w.ctx, table, tag)
		return fmt.Sprintf("%.20q,%d %t %s; counted %d %s; each %s; in order %s; check %s", value, len(value), there, kind(err), n, kind(failed),
			pairs(func(fn func(string, []byte) error) error { return s.Each(w.ctx, table, prefix, fn) }),
			pairs(func(fn func(string, []byte) error) error { return s.InOrder(w.ctx, table, fn) }),
			kind(s.Check(w.ctx)))
	})
}

// secret holds a secret to what it was: of the two sides it is not the same.
func (w *world) secret(t *rapid.T) {
	name := rapid.SampledFrom(shelfNames).Draw(t, "shelf")
	shelf := w.sides[0].shelves[name]
	if shelf == nil {
		return
	}
	secret, err := shelf.Secret(w.ctx, "a purpose")
	if _, failed := w.sides[1].shelves[name].Secret(w.ctx, "a purpose"); kind(err) != kind(failed) {
		t.Fatalf("the secret of %s is %q and must be %q", name, kind(err), kind(failed))
	}
	if was := w.secrets[name]; err == nil && was != "" && was != string(secret) {
		t.Fatalf("the secret of %s is another one than it was", name)
	}
	w.secrets[name] = string(secret)
}
