package issuer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
)

func numbered(who, what uint32) mark {
	var m mark
	binary.BigEndian.PutUint32(m.who[:], who)
	binary.BigEndian.PutUint32(m.what[:], what)
	return m
}

func open(t testing.TB, path string) *markLog {
	t.Helper()
	l, err := openLog(path)
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

// However a crash tears the last commit, what was acknowledged before is there,
// and what is there can be added to.
func TestTornEnds(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "log")
		os.Remove(path)
		l, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, 5).Draw(t, "acknowledged")
		for i := range n {
			if _, err := l.put([]mark{numbered(uint32(i), 1)}); err != nil {
				t.Fatal(err)
			}
		}
		l.close()
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// The torn commit: a piece of it, zeros where the disk was late, or noise.
		var torn []byte
		for i := range rapid.IntRange(0, 3).Draw(t, "torn marks") {
			torn = append(torn, numbered(uint32(100+i), 1).bytes()...)
		}
		if len(torn) > 0 {
			torn = torn[:rapid.IntRange(0, len(torn)).Draw(t, "cut")]
		}
		for range rapid.IntRange(0, 2).Draw(t, "holes") {
			if len(torn) > 0 {
				at := rapid.IntRange(0, len(torn)-1).Draw(t, "hole")
				torn[at] = rapid.Byte().Draw(t, "noise")
			}
		}
		end := append(bytes.Clone(whole), torn...)
		if n == 0 && rapid.Bool().Draw(t, "torn header") {
			end = end[:rapid.IntRange(0, len(logHeader)).Draw(t, "of header")]
		}
		if err := os.WriteFile(path, end, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err = openLog(path); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if !l.taken([]mark{numbered(uint32(i), 2)}) {
				t.Fatalf("mark %d is lost", i)
			}
		}
		if _, err := l.put([]mark{numbered(200, 1)}); err != nil {
			t.Fatal(err)
		}
		l.close()
		if l, err = openLog(path); err != nil {
			t.Fatal(err)
		}
		defer l.close()
		if !l.taken([]mark{numbered(200, 2)}) {
			t.Fatal("a mark after the repair is lost")
		}
	})
}

func TestDamageIsNoCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := []byte(logHeader)
	for i := range uint32(maxCommit + 2) {
		text = append(text, numbered(i, 1).bytes()...)
	}
	text[len(logHeader)+5] ^= 1
	for name, bad := range map[string][]byte{"damage far from the end": text, "no log": []byte("something else that is longer than a header"), "two things of one": append(append([]byte(logHeader), numbered(1, 1).bytes()...), numbered(1, 2).bytes()...)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := openLog(path); err == nil {
			l.close()
			t.Errorf("%s was read", name)
		}
	}
}

func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := open(t, path)
	if _, err := l.put([]mark{numbered(1, 1)}); err != nil {
		t.Fatal(err)
	}
	full := true
	l.write = func(b []byte, at int64) error {
		if full {
			l.file.WriteAt(b[:len(b)/2], at) // as much as fits
			return &os.PathError{Op: "write", Err: syscall.ENOSPC}
		}
		return l.writeFile(b, at)
	}
	_, err := l.put([]mark{numbered(2, 1)})
	if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.StorageFull {
		t.Errorf("a full disk: %v", err)
	}
	full = false
	if _, err := l.put([]mark{numbered(2, 2)}); err != nil { // nothing was answered to the first
		t.Errorf("with room again: %v", err)
	}
	l.write = func([]byte, int64) error { return syscall.EIO }
	if _, err := l.put([]mark{numbered(3, 1)}); err == nil || l.healthy() == nil {
		t.Error("a broken disk was taken for a good one")
	}
	l.write = l.writeFile
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
	l.write = func(b []byte, at int64) error {
		commits++
		time.Sleep(time.Millisecond)
		return l.writeFile(b, at)
	}
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

func FuzzLog(f *testing.F) {
	f.Add([]byte(logHeader))
	f.Add(append([]byte(logHeader), numbered(1, 1).bytes()...))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := openLog(path)
		if err != nil {
			return
		}
		n := l.len()
		l.close()
		if l = open(t, path); l.len() != n {
			t.Error("reads differently the second time")
		}
		l.close()
	})
}
