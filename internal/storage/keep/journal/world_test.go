package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// content is what a store holds, by shelf.
type content map[string]*shelfContent

type shelfContent struct {
	rows    map[string]string // table and key
	order   []string          // of Insert's rows, once the shelf is sealed
	sealed  bool
	dropped bool
}

func (c content) clone() content {
	n := content{}
	for name, s := range c {
		n[name] = &shelfContent{maps.Clone(s.rows), slices.Clone(s.order), s.sealed, s.dropped}
	}
	return n
}

// same compares what two stores hold. The order counts of sealed shelves.
func (c content) same(d content) bool {
	return maps.EqualFunc(c, d, func(a, b *shelfContent) bool {
		return a.sealed == b.sealed && a.dropped == b.dropped && maps.Equal(a.rows, b.rows) && (!a.sealed || slices.Equal(a.order, b.order))
	})
}

func rowKey(t keep.Table, key string) string { return fmt.Sprintf("%d/%s", t, key) }

// contentOf reads a store.
func contentOf(s *Store) (content, error) {
	ctx := context.Background()
	c := content{}
	keys, err := s.main.keys(own, stateKey)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if st, err := s.state(strings.TrimPrefix(key, stateKey)); err != nil {
			return nil, err
		} else if st == dropped {
			c[strings.TrimPrefix(key, stateKey)] = &shelfContent{dropped: true}
		}
	}
	names, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range append(names, keep.Main) {
		k, err := s.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		sc := &shelfContent{rows: map[string]string{}, sealed: k.(*shelf).known.Sealed}
		for t := keep.Table(1); t < 4; t++ {
			if err := k.Each(ctx, t, "", func(key string, value []byte) error {
				sc.rows[rowKey(t, key)] = string(value)
				return nil
			}); err != nil {
				return nil, err
			}
		}
		if sc.sealed {
			if err := k.InOrder(ctx, 1, func(key string, value []byte) error {
				if sc.rows[rowKey(1, key)] != string(value) {
					return errors.New("another value in order than by key")
				}
				sc.order = append(sc.order, key)
				return nil
			}); err != nil {
				return nil, err
			}
		}
		if err := k.Check(ctx); err != nil {
			return nil, err
		}
		c[name] = sc
	}
	return c, nil
}

// world is a store under calls whose outcome is known, but for those that were under way
// when something failed.
type world struct {
	disk     *memory
	o        Options
	store    *Store
	possible []content
	acked    int
	key      *inode // of the shelf that was dropped
	dropped  bool   // for certain
	err      error  // of the last start
}

func newWorld(disk *memory, o Options) *world {
	return &world{disk: disk, o: o, possible: []content{{keep.Main: {rows: map[string]string{}}}}}
}

// do makes a call and takes note of what may be there now. then reports whether the call can
// have been done on a content, and does it.
func (w *world) do(call func() error, then func(content) bool) error {
	err := call()
	var may []content
	if err != nil {
		may = w.possible
	} else {
		w.acked++
	}
	if err == nil || errors.Is(err, keep.ErrUnavailable) { // in that case nobody knows
		for _, c := range w.possible {
			if n := c.clone(); then(n) && !slices.ContainsFunc(may, n.same) {
				may = append(may, n)
			}
		}
	}
	w.possible = may
	return err
}

// doubt turns the error of a full disk into one after which nobody knows, as it is of calls
// that change files.
func doubt(err error) error {
	if errors.Is(err, keep.ErrFull) {
		return keep.ErrUnavailable
	}
	return err
}

func (w *world) start() bool {
	w.store, w.err = open(w.disk, w.o)
	return w.err == nil
}

func (w *world) shelf(name string) keep.Shelf {
	s, err := w.store.Open(context.Background(), name)
	if err != nil {
		return nil
	}
	return s
}

func (w *world) create(name string) {
	w.do(func() error {
		_, err := w.store.Create(context.Background(), name)
		return doubt(err)
	}, func(c content) bool {
		fresh := c[name] == nil
		if fresh {
			c[name] = &shelfContent{rows: map[string]string{}}
		}
		return fresh
	})
}

func (w *world) drop(name string) {
	if w.shelf(name) == nil {
		return
	}
	w.disk.mu.Lock() // another shelf may be written anew meanwhile
	w.key = w.disk.names[name+keyFile]
	w.disk.mu.Unlock()
	err := w.do(func() error { return doubt(w.store.Drop(context.Background(), name)) }, func(c content) bool {
		was := c[name] != nil
		c[name] = &shelfContent{dropped: true}
		return was
	})
	w.dropped = w.dropped || err == nil
}

func (w *world) insert(name string, rows ...keep.Row) {
	s := w.shelf(name)
	if s == nil {
		return
	}
	call := func() error {
		_, err := s.Insert(context.Background(), rows...)
		return err
	}
	then := func(c content) bool {
		if c[name] == nil || c[name].rows == nil {
			return false
		}
		for _, r := range rows {
			if _, there := c[name].rows[rowKey(r.Table, r.Key)]; !there && r.Table == 1 {
				c[name].order = append(c[name].order, r.Key)
			}
			c[name].rows[rowKey(r.Table, r.Key)] = string(r.Value)
		}
		return true
	}
	if errors.Is(w.do(call, then), keep.ErrFull) {
		w.do(call, then)
	}
}

func (w *world) update(name string, put map[string]string, gone ...string) {
	s := w.shelf(name)
	if s == nil {
		return
	}
	w.do(func() error {
		return s.Update(context.Background(), func(t keep.Tx) error {
			for key, value := range put {
				t.Put(1, key, []byte(value))
			}
			for _, key := range gone {
				t.Delete(1, key)
			}
			return nil
		})
	}, func(c content) bool {
		if c[name] == nil || c[name].rows == nil {
			return false
		}
		own := func(key string) bool {
			_, touched := put[key]
			return touched || slices.Contains(gone, key)
		}
		c[name].order = slices.DeleteFunc(c[name].order, own)
		for key, value := range put {
			c[name].rows[rowKey(1, key)] = value
		}
		for _, key := range gone {
			delete(c[name].rows, rowKey(1, key))
		}
		return true
	})
}

func (w *world) seal(name string) {
	if s := w.shelf(name); s != nil {
		w.do(func() error { return s.Seal(context.Background()) }, func(c content) bool {
			if c[name] != nil {
				c[name].sealed = true
			}
			return c[name] != nil
		})
	}
}

// live goes through all that can happen to a store: shelves made, written, sealed, written
// anew and dropped, over two starts.
func (w *world) live() {
	if !w.start() {
		return
	}
	w.create("a")
	for i := range 4 {
		w.insert("a", keep.Row{Table: 1, Key: fmt.Sprint("k", i), Tag: uint32(i), Value: bytes.Repeat([]byte{byte(i)}, 300)})
	}
	w.insert("a", keep.Row{Table: 1, Key: "two", Value: []byte("1")}, keep.Row{Table: 2, Key: "two", Value: []byte("2")})
	w.insert("a", keep.Row{Table: 1, Key: "two", Value: []byte("1")}, keep.Row{Table: 2, Key: "two", Value: []byte("2")})
	w.update(keep.Main, map[string]string{"spent": "1"})
	w.create("c")
	w.insert("c", keep.Row{Table: 1, Key: "secret", Value: []byte("x")})
	w.drop("c")
	for i := range 5 { // what is dead is written anew on the way
		w.update("a", map[string]string{"big": strings.Repeat(fmt.Sprint(i), 3000)}, "k1")
	}
	w.seal("a")
	w.update("a", map[string]string{"late": "1"})
	w.store.Close()
	if !w.start() {
		return
	}
	w.update(keep.Main, map[string]string{"spent": "2"})
	w.create("b")
	w.insert("b", keep.Row{Table: 1, Key: "k", Value: []byte("v")})
	w.store.Close()
}

// found starts the store again and compares it with what may be there.
func (w *world) found(disk *memory) (content, error) {
	s, err := open(disk, w.o)
	if err != nil {
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	defer s.Close()
	c, err := contentOf(s)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	if !slices.ContainsFunc(w.possible, c.same) {
		return c, fmt.Errorf("it holds %v and may hold %v", c, w.possible)
	}
	if w.dropped && (w.key == nil || bytes.Contains(w.key.disk, []byte(keyFormat))) {
		return c, errors.New("the key of a shelf that was dropped is on the disk")
	}
	return c, nil
}

func (c content) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, " %s:", name)
		if c[name].dropped {
			b.WriteString("dropped")
		}
		for _, key := range slices.Sorted(maps.Keys(c[name].rows)) {
			fmt.Fprintf(&b, "%s=%.8q,", key, c[name].rows[key])
		}
		fmt.Fprintf(&b, "%v,%v;", c[name].sealed, c[name].order)
	}
	return b.String()
}

// tiny has what is dead written anew early.
var tiny = Options{leastDead: 6 << 10, mostMoved: 1 << 30}

func made(t testing.TB) *memory {
	t.Helper()
	m := newMemory()
	if err := create(m); err != nil {
		t.Fatal(err)
	}
	m.ops = 0
	return m
}

func TestALifeWithoutFaults(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		o := tiny
		o.Prompt = prompt
		w := newWorld(made(t), o)
		w.live()
		if w.err != nil || len(w.possible) != 1 || w.acked != 21 {
			t.Fatalf("%d calls, %d outcomes: %v", w.acked, len(w.possible), w.err)
		}
		if _, err := w.found(w.disk); err != nil {
			t.Fatal(err)
		}
		if text, err := read(w.disk, "a"+rowsFile, 1<<20); err != nil || len(text) > 10<<10 {
			t.Errorf("what is dead was not left out: %d bytes, %v", len(text), err)
		}
		if want := []string{"a.check", "a.key", "a.rows", "b.check", "b.key", "b.rows", "main.check", "main.key", "main.rows"}; !reflect.DeepEqual(w.disk.files(), want) {
			t.Errorf("%v", w.disk.files())
		}
	}
}

// kill lets go of a store as a process does that is killed: no check is written.
func (s *Store) kill() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for _, e := range s.entries {
		e.mu.Lock()
		if e.shelf != nil {
			e.shelf.kill()
		}
		e.mu.Unlock()
	}
	s.main.kill()
	if s.lock != nil {
		s.lock.Close()
	}
}

func (s *shelf) kill() {
	s.mu.Lock()
	if s.late != nil {
		s.late.Stop()
		s.late = nil
	}
	s.mu.Unlock()
	s.check.close()
	s.close(errClosed)
}
