package issuer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
)

func numbered(who, what uint32) mark {
	var m mark
	binary.BigEndian.PutUint32(m.who[:], who)
	binary.BigEndian.PutUint32(m.what[:], what)
	return m
}

const testTitle = logFormat + " of a test"

func open(t testing.TB, path string) *markLog {
	t.Helper()
	if err := hashchain.Create(path, testTitle); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	l, err := openLog(path, path+".end", testTitle, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLogKeepsTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
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
		if l.len() != 2 {
			t.Errorf("%s: %d marks", when, l.len())
		}
	}
	if fresh, err := l.put([]mark{numbered(1, 1), numbered(2, 1)}); fresh != 2 || err != nil {
		t.Errorf("%d fresh, %v", fresh, err)
	}
	check("at first")
	l.close()
	l = open(t, path)
	defer l.close()
	check("opened again")
}

// faulty is a log whose disk fails now and then.
type faulty struct {
	groups
	fail func() error
}

func (f *faulty) Append(body []byte) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.groups.Append(body)
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	if _, err := l.put([]mark{numbered(1, 1)}); err != nil {
		t.Fatal(err)
	}
	disk := error(hashchain.ErrFull)
	l.file = &faulty{l.file, func() error { return disk }}
	_, err := l.put([]mark{numbered(2, 1)})
	if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.StorageFull {
		t.Errorf("a full disk: %v", err)
	}
	disk = nil
	if _, err := l.put([]mark{numbered(2, 2)}); err != nil { // nothing was answered to the first
		t.Errorf("with room again: %v", err)
	}
	disk = syscall.EIO
	if _, err := l.put([]mark{numbered(3, 1)}); err == nil || l.healthy() == nil {
		t.Error("a broken disk was taken for a good one")
	}
	disk = nil
	if _, err := l.put([]mark{numbered(4, 1)}); err == nil {
		t.Error("went on without knowing what is on disk")
	}
	l.close()
	l = open(t, path)
	defer l.close()
	if l.len() != 2 || !l.taken([]mark{numbered(2, 1)}) {
		t.Errorf("%d marks", l.len())
	}
}

// Of many that put at once, one wins each turn, and commits are shared.
func TestConcurrentMarks(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "log"))
	defer l.close()
	commits := 0
	l.file = &faulty{l.file, func() error {
		commits++
		time.Sleep(time.Millisecond)
		return nil
	}}
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
	if commits >= people {
		t.Errorf("%d commits for %d marks: none were shared", commits, people)
	}
}

// A process is killed while it writes: what it had acknowledged is there. The
// child is this test, told by its environment.
func TestKilledWriter(t *testing.T) {
	if path := os.Getenv("CONFETTI_TEST_LOG"); path != "" {
		l := open(t, path)
		for i := uint32(l.len()); ; i++ {
			if _, err := l.put([]mark{numbered(i, 1)}); err != nil {
				t.Fatal(err)
			}
			fmt.Println("acknowledged", i)
		}
	}
	path := filepath.Join(t.TempDir(), "log")
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
		l := open(t, path)
		if l.len() <= acknowledged {
			t.Fatalf("%d marks of %d are there", l.len(), acknowledged+1)
		}
		l.close()
	}
	if acknowledged < 6 {
		t.Errorf("only %d were written", acknowledged)
	}
}

func FuzzMarks(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, markSize))
	f.Add(make([]byte, 2*markSize))
	f.Fuzz(func(t *testing.T, body []byte) {
		costlimit.Heap(t, costlimit.Factor, len(body), func() {
			l := &markLog{known: map[[16]byte][16]byte{}}
			if l.read(nil, body) == nil && len(l.known)*markSize != len(body) {
				t.Error("marks were passed over")
			}
		})
	})
}
