package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// lived returns the disk of a store that was closed, with a sealed shelf that was written
// anew, an open one and one that was dropped.
func lived(t testing.TB, o Options) *world {
	t.Helper()
	w := newWorld(made(t), o)
	if w.live(); w.err != nil || len(w.possible) != 1 {
		t.Fatal(w.err)
	}
	return w
}

// spots calls fn for each byte of each file. Of what only fills, it takes one byte in 64.
func spots(m *memory, fn func(name string, b []byte, i int)) {
	for _, name := range m.files() {
		b := m.names[name].cache
		for i := range b {
			fill := i > 0 && i < len(b)-1 && (b[i] == ' ' || b[i] == 0) && b[i-1] == b[i] && b[i+1] == b[i]
			if !fill || i%64 == 0 {
				fn(name, b, i)
			}
		}
	}
}

// A flipped bit in any byte of any file of a closed store is refused, by the name of the file,
// or changes nothing.
func TestRotInAClosedStore(t *testing.T) {
	w := lived(t, tiny)
	refused, harmless := map[string]int{}, map[string]int{}
	spots(w.disk, func(name string, b []byte, i int) {
		m := w.disk.clone()
		m.names[name].cache[i] ^= 1 << (i % 8)
		_, err := w.found(m)
		kind := name[strings.LastIndexByte(name, '.'):]
		switch {
		case err == nil:
			harmless[kind]++
		case errors.Is(err, keep.ErrDamaged) && strings.Contains(err.Error(), name):
			refused[kind]++
		default:
			t.Errorf("byte %d of %s: %v", i, name, err)
		}
	})
	t.Logf("refused %v, harmless %v", refused, harmless)
	if harmless[rowsFile] > 0 || harmless[keyFile] > 0 || refused[rowsFile] == 0 || refused[keyFile] == 0 || harmless[checkEnding] == 0 {
		t.Error("no byte of rows and keys is without a meaning, and of a check one slot is enough")
	}
}

// A flipped bit in any byte of a file that is open is found by whoever reads what it is of, and
// by Check whatever it is of.
func TestRotInAnOpenStore(t *testing.T) {
	w := lived(t, tiny)
	if !w.start() {
		t.Fatal(w.err)
	}
	defer w.store.Close()
	if _, err := contentOf(w.store); err != nil {
		t.Fatal(err)
	}
	n := 0
	spots(w.disk, func(name string, b []byte, i int) {
		if strings.HasSuffix(name, checkEnding) {
			return // it is read at a start
		}
		if log := w.shelf(name[:strings.LastIndexByte(name, '.')]).(*shelf).vol.log; strings.HasSuffix(name, rowsFile) && i >= int(log.Next()-hashchain.Frame) {
			return // of the zeros over which the next group is written
		}
		b[i] ^= 1 << (i % 8)
		defer func() { b[i] ^= 1 << (i % 8) }()
		s := w.shelf(name[:strings.LastIndexByte(name, '.')]).(*shelf)
		s.vol.last.Store(nil)
		if err := s.Check(context.Background()); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Fatalf("byte %d of %s: Check says %v", i, name, err)
		}
		for t2 := keep.Table(1); t2 < 3; t2++ {
			for _, key := range s.index.keys(t2, "") {
				value, there, err := s.Get(context.Background(), t2, key)
				if err == nil && (!there || string(value) != w.possible[0][s.name].rows[rowKey(t2, key)]) || err != nil && !errors.Is(err, keep.ErrDamaged) {
					t.Fatalf("byte %d of %s: under %s stands %t, %v", i, name, key, there, err)
				}
			}
		}
		n++
	})
	if n < 1000 {
		t.Errorf("%d bytes", n)
	}
	if _, err := contentOf(w.store); err != nil {
		t.Error(err)
	}
}

// wrongOnce is a file whose next read is wrong by a bit.
type wrongOnce struct {
	hashchain.File
	wrong bool
}

func (f *wrongOnce) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	if f.wrong && n > 0 {
		b[0], f.wrong = b[0]^1, false
	}
	return n, err
}

// What is read wrong once, as by a cable, is right when it is read again: also the salt of a group, from which its
// key comes.
func TestAReadThatIsWrongOnce(t *testing.T) {
	w, _ := chained(t, Options{}, 3)
	if !w.start() {
		t.Fatal(w.err)
	}
	defer w.store.Close()
	s := w.shelf("in").(*shelf)
	file := &wrongOnce{File: s.vol.file}
	s.vol.file = file
	for i := range 3 { // whose salt is read first
		file.wrong = true
		if _, _, err := s.Get(t.Context(), 1, fmt.Sprint(i)); !errors.Is(err, keep.ErrDamaged) || file.wrong {
			t.Errorf("row %d: %v", i, err)
		}
		if value, there, err := s.Get(t.Context(), 1, fmt.Sprint(i)); err != nil || !there || string(value) != "value" {
			t.Errorf("row %d again: %q, %t, %v", i, value, there, err)
		}
	}
}

// chained returns a store whose shelf "in" has groups of one row each, as a process leaves it
// that is killed within a second of them.
func chained(t testing.TB, o Options, n int) (w *world, begins []int64) {
	t.Helper()
	w = newWorld(made(t), o)
	if !w.start() {
		t.Fatal(w.err)
	}
	w.create("in")
	for i := range n {
		begins = append(begins, w.shelf("in").(*shelf).vol.log.Next())
		w.insert("in", keep.Row{Table: 1, Key: fmt.Sprint(i), Value: []byte("value")})
	}
	w.update(keep.Main, map[string]string{"spent": "1"})
	w.store.kill()
	return w, begins
}

// A bit that flips in the last group before a kill looks like a torn write. Where the check is
// prompt it is refused, and so it is on main. Elsewhere it is cut off, for as long as the
// check is late: that is what the documents say, and no more.
func TestALostEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      Options
		file   string
		deaf   string
		silent bool
	}{
		{"a shelf", Options{}, "in" + rowsFile, "", true},
		{"a prompt shelf", Options{Prompt: true}, "in" + rowsFile, "", false},
		{"main", Options{}, keep.Main + rowsFile, "", false},
		{"main whose check does not reach the disk", Options{}, keep.Main + rowsFile, checkEnding, true},
	} {
		w := newWorld(made(t), c.o)
		w.disk.deaf = c.deaf
		if !w.start() {
			t.Fatal(w.err)
		}
		w.create("in")
		for i := range 5 {
			w.insert("in", keep.Row{Table: 1, Key: fmt.Sprint(i)})
		}
		w.update(keep.Main, map[string]string{"spent": "1"})
		at := w.store.main.vol.log.Next() - block
		if c.file != keep.Main+rowsFile {
			at = w.shelf("in").(*shelf).vol.log.Next() - hashchain.Frame - 40
		}
		w.store.kill()
		w.disk.names[c.file].cache[at+30] ^= 1
		s, err := open(w.disk, c.o)
		if err == nil {
			_, err = s.Open(t.Context(), "in")
			s.Close()
		}
		if c.silent != (err == nil) || err != nil && !errors.Is(err, keep.ErrDamaged) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A shelf that was made and has lost any of its files is damage, and is not made anew; nor
// is a store whose main is gone or older than its shelves.
func TestFilesThatAreGone(t *testing.T) {
	w := lived(t, tiny)
	endings := []string{rowsFile, keyFile, checkEnding}
	for lost := 1; lost < 8; lost++ {
		for _, name := range []string{"a", keep.Main} {
			m := w.disk.clone()
			for i, e := range endings {
				if lost>>i&1 == 1 {
					delete(m.names, name+e)
				}
			}
			before := len(m.names)
			s, err := open(m, tiny)
			if err == nil && name != keep.Main {
				if _, err := s.Create(t.Context(), name); !errors.Is(err, keep.ErrExists) {
					t.Errorf("%s without %03b is made anew: %v", name, lost, err)
				}
				_, err = s.Open(t.Context(), name)
				s.Close()
			}
			if !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("%s without %03b: %v", name, lost, err)
			}
			if name == keep.Main && lost&1 == 1 {
				if err := create(m); !errors.Is(err, keep.ErrDamaged) {
					t.Errorf("main without %03b is made anew: %v", lost, err)
				}
			}
			if len(m.names) != before {
				t.Errorf("%s without %03b: files came or went: %v", name, lost, m.files())
			}
		}
	}
	m := newMemory()
	if _, err := open(m, tiny); !errors.Is(err, keep.ErrMissing) || len(m.names) > 0 {
		t.Errorf("an empty folder: %v, %v", err, m.files())
	}
	if err := create(w.disk.clone()); !errors.Is(err, keep.ErrExists) {
		t.Errorf("a store over a store: %v", err)
	}
}

func TestAnOlderMain(t *testing.T) {
	w := newWorld(made(t), tiny)
	if !w.start() {
		t.Fatal(w.err)
	}
	old := w.disk.clone()
	w.create("a")
	w.store.Close()
	for _, e := range []string{rowsFile, keyFile, checkEnding} {
		w.disk.names[keep.Main+e] = old.names[keep.Main+e]
	}
	if _, err := open(w.disk, tiny); !errors.Is(err, keep.ErrDamaged) || !strings.Contains(err.Error(), "a.rows") {
		t.Errorf("an older copy of main: %v", err)
	}
}
