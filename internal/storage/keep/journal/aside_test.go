package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// spoiled returns a disk whose shelf "in" had a row in each of six groups before a file of it
// was spoiled, or removed where spoil returns nil.
func spoiled(t *testing.T, file string, spoil func(b []byte, begins []int64) []byte) *world {
	t.Helper()
	w, begins := chained(t, Options{Prompt: true}, 6)
	b := spoil(w.disk.names["in"+file].cache, begins)
	delete(w.disk.names, "in"+file)
	if b != nil {
		w.disk.names["in"+file] = &inode{cache: b, disk: slices.Clone(b)}
	}
	w.disk.Sync()
	return w
}

func gone([]byte, []int64) []byte { return nil }

// What is damaged is refused by name, and gone on without by who asks for it: all else is
// there, what was lost is counted, and it stays so.
func TestSetAside(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		spoil func(b []byte, begins []int64) []byte
		lost  uint64
	}{
		"one in the middle":   {rowsFile, func(b []byte, at []int64) []byte { b[at[2]+30] ^= 1; return b }, 1},
		"the first":           {rowsFile, func(b []byte, at []int64) []byte { b[at[0]] ^= 1; return b }, 1},
		"the last":            {rowsFile, func(b []byte, at []int64) []byte { b[at[5]+30] ^= 1; return b }, 1},
		"the title":           {rowsFile, func(b []byte, at []int64) []byte { b[3] ^= 1; return b }, 0},
		"two that are gone":   {rowsFile, func(b []byte, at []int64) []byte { return b[:at[4]-hashchain.Frame] }, 2},
		"two in the middle":   {rowsFile, func(b []byte, at []int64) []byte { b[at[1]+30] ^= 1; b[at[3]+30] ^= 1; return b }, 2},
		"the title, and more": {rowsFile, func(b []byte, at []int64) []byte { b[3] ^= 1; b[at[1]+30] ^= 1; return b }, 1},
		"all bytes":           {rowsFile, func(b []byte, at []int64) []byte { return b[:0] }, 6},
		"the rows":            {rowsFile, gone, 6},
		"a bit of the key":    {keyFile, func(b []byte, _ []int64) []byte { b[40] ^= 1; return b }, 6},
		"the key":             {keyFile, gone, 6},
		"the check":           {checkEnding, gone, 0},
		"both slots":          {checkEnding, func(b []byte, _ []int64) []byte { b[9] ^= 1; b[slotSize+9] ^= 1; return b }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := spoiled(t, c.file, c.spoil)
			if _, err := w.found(w.disk.clone()); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "in"+c.file) {
				t.Fatalf("not asked to go on: %v", err)
			}
			read := func(get func(*Store, context.Context, string) (keep.Shelf, error)) (*Store, keep.Shelf) {
				t.Helper()
				s, err := open(w.disk, Options{Prompt: true})
				if err != nil {
					t.Fatal(err)
				}
				k, err := get(s, t.Context(), "in")
				if err != nil {
					t.Fatal(err)
				}
				lost, err := s.Lost(t.Context(), "in")
				if err != nil || lost != c.lost {
					t.Errorf("%d rows are lost: %v", lost, err)
				}
				if n, err := k.Count(t.Context(), 1, 0); err != nil || n+int(c.lost) != 6 {
					t.Fatalf("%d rows: %v", n, err)
				}
				return s, k
			}
			s, _ := read((*Store).SetAside)
			s.Close()
			s, k := read((*Store).Open)
			for i := range 6 { // who was lost comes again
				if _, err := k.Insert(t.Context(), keep.Row{Table: 1, Key: fmt.Sprint(i), Value: []byte("value")}); err != nil {
					t.Error(err)
				}
			}
			if err := k.Update(t.Context(), func(tx keep.Tx) error { tx.Put(2, "more", nil); return nil }); err != nil {
				t.Error(err)
			}
			if err := k.Seal(t.Context()); err != nil {
				t.Error(err)
			}
			s.Close()
			in := w.possible[0]["in"]
			in.sealed, in.rows[rowKey(2, "more")] = true, ""
			again, err := open(w.disk, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			found, err := contentOf(again)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(found["in"].order)
			if !found.same(w.possible[0]) {
				t.Errorf("%v, and %v was there", found, w.possible[0])
			}
		})
	}
}

// What rots while the shelf is open and sealed is set aside under the hands of whoever reads
// it, and it stays sealed.
func TestSetAsideWhileOpen(t *testing.T) {
	w, begins := chained(t, Options{Prompt: true}, 6)
	if !w.start() {
		t.Fatal(w.err)
	}
	defer w.store.Close()
	k := w.shelf("in")
	if err := k.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.disk.names["in"+rowsFile].cache[begins[3]+30] ^= 1
	in := func(k keep.Shelf) (n int, err error) {
		err = k.InOrder(t.Context(), 1, func(string, []byte) error { n++; return nil })
		return n, err
	}
	if _, err := in(k); !errors.Is(err, keep.ErrDamaged) {
		t.Fatal(err)
	}
	now, err := w.store.SetAside(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := in(now); n != 5 || err != nil {
		t.Errorf("%d rows: %v", n, err)
	}
	if _, err := now.Insert(t.Context(), keep.Row{Table: 1, Key: "3"}); !errors.Is(err, keep.ErrSealed) {
		t.Errorf("it is open again: %v", err)
	}
	if lost, err := w.store.Lost(t.Context(), "in"); lost != 1 || err != nil {
		t.Errorf("%d rows are lost: %v", lost, err)
	}
	if _, err := in(k); !errors.Is(err, keep.ErrUnavailable) {
		t.Errorf("the shelf of before: %v", err)
	}
}

// A row that an Update has changed would be again what it was before: a spending would be
// forgotten. Nothing of such a shelf is set aside, nor of main, and nothing is changed by asking.
func TestWhatIsNotSetAside(t *testing.T) {
	w, begins := chained(t, Options{Prompt: true}, 3)
	if !w.start() {
		t.Fatal(w.err)
	}
	w.update("in", map[string]string{"spent": "2"})
	w.insert("in", keep.Row{Table: 1, Key: "behind"})
	w.store.kill()
	for at, flip := range []int64{begins[1] + 30, begins[2] + 80} {
		m := w.disk.clone()
		b := m.names["in"+rowsFile].cache
		b[flip] ^= 1
		before := slices.Clone(b)
		s, err := open(m, Options{Prompt: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetAside(t.Context(), "in"); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "in") {
			t.Errorf("%d: %v", at, err)
		}
		if !slices.Equal(before, m.names["in"+rowsFile].cache) {
			t.Errorf("%d: the rows were changed", at)
		}
		if _, err := s.SetAside(t.Context(), keep.Main); !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("main: %v", err)
		}
		if _, err := s.SetAside(t.Context(), "none"); !errors.Is(err, keep.ErrMissing) {
			t.Errorf("none: %v", err)
		}
		s.Close()
	}
}
