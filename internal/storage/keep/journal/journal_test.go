package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// What is dead is left out, and what lives keeps its order, tags and values; a reader that
// goes through the file in order is not disturbed.
func TestCompaction(t *testing.T) {
	w := newWorld(made(t), Options{leastDead: 100 << 10, mostMoved: 1 << 30})
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("a")
	s := w.shelf("a").(*shelf)
	for i := range 200 {
		w.insert("a", keep.Row{Table: 1, Key: fmt.Sprint(i * 7919 % 1000), Tag: uint32(i % 3), Value: []byte(fmt.Sprint(i))})
	}
	grow := func() {
		for i := range 10 {
			w.update("a", map[string]string{"big": strings.Repeat(fmt.Sprint(i), 20_000)})
		}
	}
	first := s.vol
	grow()
	if s.vol == first {
		t.Fatal("nothing was left out")
	}
	w.seal("a")
	second, seen := s.vol, 0
	if err := s.InOrder(t.Context(), 1, func(key string, _ []byte) error {
		if seen == 100 {
			grow()
		}
		seen++
		return nil
	}); err != nil || seen != 200 {
		t.Fatalf("%d rows in order: %v", seen, err)
	}
	if s.vol != second {
		t.Error("the file went away under who read it")
	}
	grow()
	if s.vol == second {
		t.Error("nothing was left out behind the reader")
	}
	for tag, want := range []int{67, 67, 66} {
		if n, err := s.Count(t.Context(), 1, uint32(tag)); err != nil || n != want {
			t.Errorf("tag %d: %d rows, %v", tag, n, err)
		}
	}
	w.store.Close()
	if _, err := w.found(w.disk); err != nil {
		t.Error(err)
	}
	if size := int64(len(w.disk.names["a"+rowsFile].cache)); size > 250<<10 {
		t.Errorf("the file has %d bytes", size)
	}
}

// The order of a crowd is not its order by key: a compaction that walks an index is found out.
func TestOrderIsNotByKey(t *testing.T) {
	w := lived(t, tiny)
	order := w.possible[0]["a"].order
	if len(order) < 3 || slices.IsSortedFunc(order, func(a, b string) int { return -strings.Compare(a, b) }) {
		t.Fatalf("%v", order)
	}
	sorted := w.possible[0].clone()
	slices.Reverse(sorted["a"].order)
	w.possible = []content{sorted}
	if _, err := w.found(w.disk); err == nil {
		t.Error("another order was not found out")
	}
}

// A file above the bound is written anew at a start alone.
func TestLargeFilesAreCompactedAtAStart(t *testing.T) {
	w := newWorld(made(t), Options{leastDead: 10 << 10, mostMoved: 5 << 10})
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("a")
	for range 10 {
		w.update("a", map[string]string{"big": strings.Repeat("x", 5000)})
	}
	w.store.Close()
	before := len(w.disk.names["a"+rowsFile].cache)
	if _, err := w.found(w.disk); err != nil {
		t.Fatal(err)
	}
	if after := len(w.disk.names["a"+rowsFile].cache); before < 50_000 || after > 6000 {
		t.Errorf("%d bytes, and %d behind a start", before, after)
	}
}

// Groups of main begin at multiples of a block: no write touches what was there.
func TestGroupsOfMainAreAligned(t *testing.T) {
	w := lived(t, tiny)
	if !w.start() {
		t.Fatal(w.err)
	}
	w.store.main.vol.log.Groups(hashchain.Walk{}, func(g hashchain.Group) error {
		if (g.At-hashchain.Frame)%block != 0 || (len(g.Body)+hashchain.Frame)%block != 0 {
			t.Errorf("group %d begins at %d and has %d bytes", g.Number, g.At, len(g.Body))
		}
		return nil
	})
	w.store.Close()
}

// A function that panics, or ends its goroutine, writes nothing and stops nobody else.
func TestAnUpdateThatDoesNotReturn(t *testing.T) {
	w := newWorld(made(t), tiny)
	if !w.start() {
		t.Fatal(w.err)
	}
	defer w.store.Close()
	s := w.store.main
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is not the caller's")
			}
		}()
		s.Update(t.Context(), func(tx keep.Tx) error {
			tx.Put(1, "x", nil)
			panic("of the caller")
		})
	}()
	ended := make(chan bool)
	go func() {
		defer close(ended)
		s.Update(context.Background(), func(tx keep.Tx) error {
			tx.Put(1, "x", nil)
			runtime.Goexit()
			return nil
		})
	}()
	<-ended
	if err := s.Update(t.Context(), func(tx keep.Tx) error { tx.Put(1, "y", nil); return nil }); err != nil {
		t.Error(err)
	}
	if _, there, err := s.Get(t.Context(), 1, "x"); there || err != nil {
		t.Errorf("x is there: %t, %v", there, err)
	}
}

// Nothing runs when a store is closed.
func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		w := lived(t, tiny)
		if !w.start() {
			t.Fatal(w.err)
		}
		w.create("d")
		w.insert("d", keep.Row{Table: 1, Key: "k"})
		w.drop("d")
		w.store.Close()
		w.store.Close()
	}
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
}

// One process has a folder, what it holds is in files of its alone, and a start makes nothing.
func TestAFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); !errors.Is(err, keep.ErrMissing) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(dir+"/none", Options{}); !errors.Is(err, keep.ErrMissing) {
		t.Errorf("no folder: %v", err)
	}
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	if err := Create(dir); !errors.Is(err, keep.ErrExists) {
		t.Errorf("a store over a store: %v", err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil && runtime.GOOS != "plan9" {
		t.Error("two processes have one folder")
	}
	k, err := s.Create(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Insert(t.Context(), keep.Row{Table: 1, Key: "some key", Value: []byte("some value")}); err != nil {
		t.Fatal(err)
	}
	used, free, err := s.Usage(t.Context())
	if err != nil || used < 20_000 || used > 100_000 || free == 0 {
		t.Errorf("%d bytes, %d free: %v", used, free, err)
	}
	if err := s.Drop(t.Context(), "in"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	var names []string
	fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() {
			names = append(names, name)
			if b, err := os.ReadFile(dir + "/" + name); err != nil || bytes.Contains(b, []byte("some")) {
				t.Errorf("%s is not sealed: %v", name, err)
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		return nil
	})
	if want := []string{"lock", "main.check", "main.key", "main.rows"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// Keys come in order, whatever came and went between two looks.
func TestKeysInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, want := index{}, map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for range rapid.IntRange(0, 12).Draw(t, "changes") {
				key := rapid.StringMatching(`[ab]{1,4}`).Draw(t, "key")
				o := op{t: 1, key: key}
				if rapid.Bool().Draw(t, "delete") {
					o.kind = deleted
					delete(want, key)
				} else {
					want[key] = true
				}
				x.apply(o, place{at: groupHead, n: 1, back: groupHead})
			}
			prefix := rapid.StringMatching(`[ab]{0,2}`).Draw(t, "prefix")
			var keys []string
			for key := range want {
				if strings.HasPrefix(key, prefix) {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			if got := x.keys(1, prefix); !slices.Equal(got, keys) {
				t.Fatalf("%q, and %q are there", got, keys)
			}
		}
		if x.live != int64(len(want)) || x.size() != len(want) {
			t.Fatalf("%d bytes live of %d rows", x.live, len(want))
		}
	})
}

func FuzzRows(f *testing.F) {
	s := sealer{make([]byte, keySize)}
	w := writer{sealer: s}
	w.begin(7)
	w.add(op{t: 1, kind: inserted, tag: 3, key: "key", value: []byte("value")})
	w.add(op{t: 2, kind: deleted, key: "key"})
	f.Add(bytes.Clone(w.body()))
	w.pad()
	f.Add(w.body())
	f.Fuzz(func(t *testing.T, body []byte) {
		costlimit.Heap(t, costlimit.Factor, len(body)+64<<10, func() {
			again := writer{sealer: s}
			again.begin(0)
			before, n, err := s.rows(0, bytes.Clone(body), func(o op, p place) error {
				if len(again.places) == 0 { // under the same salt
					copy(again.body(), body[:groupHead])
					again.aead = s.group(body[:saltSize])
				}
				again.add(o)
				if q := again.places[p.i]; q != p {
					t.Errorf("it lies at %v and was read at %v", q, p)
				}
				return nil
			})
			if err != nil && !errors.Is(err, keep.ErrDamaged) {
				t.Error(err)
			}
			if err == nil && n > 0 && (!bytes.HasPrefix(body, again.body()) || before > 0 && n > uint64(len(body))) {
				t.Error("a group has two forms")
			}
		})
	})
}

func FuzzCheck(f *testing.F) {
	b, err := check{Turn: 3, End: hashchain.Begin("x"), Rows: 7, Sealed: true, Updated: true, Aside: []hashchain.Gap{{From: 1, To: 2}}, Lost: 5}.slot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(newCheck()[:slotSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b)+16<<10, func() {
			c, ok := parseSlot(b)
			if !ok {
				return
			}
			if again, err := c.slot(); err != nil || !bytes.Equal(again, b) {
				t.Errorf("a check has two forms: %v", err)
			}
		})
	})
}

func FuzzKey(f *testing.F) {
	f.Add(marshalKey(make([]byte, keySize)))
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b)+1<<10, func() {
			if key, ok := parseKey(b); ok && !bytes.Equal(marshalKey(key), b) {
				t.Error("a key has two forms")
			}
		})
	})
}

// Where the system has no lock, the operator says that there is one process.
func TestAlone(t *testing.T) {
	for _, c := range []struct{ locks, said, opens bool }{{true, false, true}, {true, true, true}, {false, true, true}, {false, false, false}} {
		if err := alone(c.locks, c.said); (err == nil) != c.opens || err != nil && !strings.Contains(err.Error(), "--alone") {
			t.Errorf("a lock: %t, said: %t: %v", c.locks, c.said, err)
		}
	}
}

// A shelf whose rows were all deleted, and left out of its file, is there, and goes on.
func TestAShelfOfDeadRows(t *testing.T) {
	w := newWorld(made(t), tiny)
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("a")
	w.insert("a", keep.Row{Table: 1, Key: "k", Value: make([]byte, 10<<10)})
	w.update("a", nil, "k")
	w.store.Close()
	for i := range 3 {
		if size := len(w.disk.names["a"+rowsFile].cache); size > 1<<10 {
			t.Fatalf("start %d: what is dead was not left out: %d bytes", i, size)
		}
		if !w.start() {
			t.Fatal(w.err)
		}
		w.insert("a", keep.Row{Table: 1, Key: fmt.Sprint("more", i)})
		w.store.Close()
		if _, err := w.found(w.disk.clone()); err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if !w.start() {
			t.Fatal(w.err)
		}
		w.update("a", map[string]string{"big": strings.Repeat("x", 10<<10)})
		w.update("a", nil, "big", fmt.Sprint("more", i))
		w.store.Close()
		if _, err := w.found(w.disk); err != nil {
			t.Fatalf("all dead, start %d: %v", i, err)
		}
	}
}
