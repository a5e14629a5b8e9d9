package issuer

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
)

func numbered(who, what uint32) mark {
	var m mark
	binary.BigEndian.PutUint32(m.who[:], who)
	binary.BigEndian.PutUint32(m.what[:], what)
	return m
}

// open opens the marks of a plan in an issuer's folder, and makes them the first time.
func open(t testing.TB, folder string) (m *marks, done func()) {
	t.Helper()
	o := Options{Folder: folder}
	o.Log = slog.New(slog.DiscardHandler)
	if err := Make(folder); err != nil && !errors.Is(err, keep.ErrExists) {
		t.Fatal(err)
	}
	store, err := openStore(o)
	if err != nil {
		t.Fatal(err)
	}
	names, err := store.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if m, _, err = openMarks(context.Background(), store, [32]byte{1}, len(names) == 0); err != nil {
		t.Fatal(err)
	}
	return m, func() { store.Close() }
}

func TestMarksKeepTheFirst(t *testing.T) {
	folder := t.TempDir()
	l, done := open(t, folder)
	check := func(when string) {
		for _, c := range []struct {
			marks []mark
			fresh int
			err   error
		}{
			{[]mark{numbered(1, 1)}, 0, nil},
			{[]mark{numbered(1, 2)}, 0, errTaken},
			{[]mark{numbered(3, 1), numbered(1, 2)}, 0, errTaken}, // all or none
		} {
			if fresh, err := l.put(c.marks); fresh != c.fresh || !errors.Is(err, c.err) {
				t.Errorf("%s: %d fresh, %v", when, fresh, err)
			}
		}
		if l.count() != 2 {
			t.Errorf("%s: %d marks", when, l.count())
		}
	}
	if fresh, err := l.put([]mark{numbered(1, 1), numbered(2, 1)}); fresh != 2 || err != nil {
		t.Errorf("%d fresh, %v", fresh, err)
	}
	check("at first")
	done()
	l, done = open(t, folder)
	defer done()
	check("opened again")
}

// faulty is a shelf whose disk fails now and then.
type faulty struct {
	keep.Shelf
	fail error
}

func (f *faulty) Insert(ctx context.Context, rows ...keep.Row) (bool, error) {
	if f.fail != nil {
		return false, f.fail
	}
	return f.Shelf.Insert(ctx, rows...)
}

func TestFullDisk(t *testing.T) {
	l, done := open(t, t.TempDir())
	defer done()
	if _, err := l.put([]mark{numbered(1, 1)}); err != nil {
		t.Fatal(err)
	}
	disk := &faulty{l.shelf, keep.ErrFull}
	l.shelf = disk
	_, err := l.put([]mark{numbered(2, 1)})
	if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.StorageFull {
		t.Errorf("a full disk: %v", err)
	}
	disk.fail = nil
	if _, err := l.put([]mark{numbered(2, 2)}); err != nil { // nothing was answered to the first
		t.Errorf("with room again: %v", err)
	}
	disk.fail = keep.ErrUnavailable
	if _, err := l.put([]mark{numbered(3, 1)}); err == nil || l.healthy() == nil {
		t.Error("a broken disk was taken for a good one")
	}
	disk.fail = nil
	if _, err := l.put([]mark{numbered(3, 1)}); err != nil || l.healthy() != nil {
		t.Errorf("a disk that is back: %v, %v", err, l.healthy())
	}
	l.end(errOver)
	if _, err := l.put([]mark{numbered(4, 1)}); !errors.Is(err, errOver) {
		t.Errorf("what is over: %v", err)
	}
}

// Of many that put at once, one wins each turn.
func TestConcurrentMarks(t *testing.T) {
	l, done := open(t, t.TempDir())
	defer done()
	const people, tries = 50, 8
	var won [people]sync.Map
	var wg sync.WaitGroup
	for p := range uint32(people) {
		for try := range uint32(tries) {
			wg.Go(func() {
				if _, err := l.put([]mark{numbered(p, try)}); err == nil {
					won[p].Store(try, true)
				} else if !errors.Is(err, errTaken) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for p := range won {
		n := 0
		won[p].Range(func(any, any) bool { n++; return true })
		if n != 1 {
			t.Errorf("%d requests of person %d were signed", n, p)
		}
	}
}

// A process is killed while it writes: what it had acknowledged is there. The
// child is this test, told by its environment.
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv("CONFETTI_TEST_LOG"); path != "" {
		l, _ := open(t, path)
		for i := uint32(l.count()); ; i++ {
			if _, err := l.put([]mark{numbered(i, 1)}); err != nil {
				t.Fatal(err)
			}
			fmt.Println("acknowledged", i)
		}
	}
	path := t.TempDir()
	r := stattest.Rand(t)
	acknowledged := -1
	for range 6 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		child.Env = append(os.Environ(), "CONFETTI_TEST_LOG="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for left := 1 + r.IntN(40); left > 0 && lines.Scan(); left-- {
			if n, err := fmt.Sscanf(lines.Text(), "acknowledged %d", &acknowledged); n != 1 {
				t.Fatalf("the child says %q (%v)", lines.Text(), err)
			}
		}
		child.Process.Kill()
		for lines.Scan() { // what it said before it died
			if strings.HasPrefix(lines.Text(), "acknowledged") {
				fmt.Sscanf(lines.Text(), "acknowledged %d", &acknowledged)
			}
		}
		child.Wait()
		l, done := open(t, path)
		if l.count() <= acknowledged {
			t.Fatalf("%d marks of %d are there", l.count(), acknowledged+1)
		}
		done()
	}
	if acknowledged < 6 {
		t.Errorf("only %d were written", acknowledged)
	}
}

// A folder of an earlier version is refused by name, and left as it is.
func TestAFolderOfAnEarlierVersion(t *testing.T) {
	w := newWorld(t)
	w.service.Close()
	for _, old := range []string{strings.Repeat("ab", 32) + ".log", strings.Repeat("ab", 32) + ".plan", strings.Repeat("ab", 32) + ".audit", "respondents.key"} {
		if err := os.WriteFile(filepath.Join(w.options.Folder, old), []byte("text\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		before := disk(t, w.options.Folder)
		s, err := New(w.options)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), old) || !strings.Contains(err.Error(), "earlier version") {
			t.Errorf("%s: it says: %v", old, err)
		}
		if disk(t, w.options.Folder) != before {
			t.Errorf("%s: it changed the folder that it refused", old)
		}
		if err := os.Remove(filepath.Join(w.options.Folder, old)); err != nil {
			t.Fatal(err)
		}
	}
	w.open()
}

// An issuer whose folder is gone does not begin anew: it would give everybody a second token. It
// begins where the command made the folder with the keys, or the operator says so.
func TestALostFolderIsNotMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.service.Close()
	keys, err := filepath.Glob(filepath.Join(w.options.Keys, "*.json"))
	if err != nil || len(keys) == 0 {
		t.Fatal(keys, err)
	}
	for _, path := range keys {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-48 * time.Hour).UTC().Format("2006-01-02")
		text = regexp.MustCompile(`"made": "\d{4}-\d\d-\d\d`).ReplaceAll(text, []byte(`"made": "`+old))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func() error {
		s, err := New(w.options)
		if err == nil {
			s.Close()
		}
		return err
	}
	lose := func() {
		if err := os.RemoveAll(w.options.Folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(); err != nil {
		t.Fatal("with its folder: ", err)
	}
	lose()
	if err := start(); err == nil || !strings.Contains(err.Error(), "--new") {
		t.Errorf("without: %v", err)
	}
	w.options.Begin.New = true
	if err := start(); err != nil {
		t.Errorf("with --new: %v", err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "start without it") {
		t.Errorf("with --new over a store: %v", err)
	}
	w.options.Begin.New = false
	lose()
	if err := Make(w.options.Folder); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("in a folder that was made: %v", err)
	}
}
