package queue

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

func inbox(t testing.TB, q *Queue, name string) *Inbox {
	t.Helper()
	in, err := q.Inbox(context.Background(), name, Refuse)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func numbered(i int) (key [16]byte) {
	binary.BigEndian.PutUint64(key[8:], uint64(i))
	return key
}

func putIn(in *Inbox, i int, label uint32, body string) (bool, error) {
	return in.Put(numbered(i), label, sha256.Sum256([]byte(body)), []byte(body))
}

func mustPut(t testing.TB, in *Inbox, i int, label uint32, body string) {
	t.Helper()
	if again, err := putIn(in, i, label, body); again || err != nil {
		t.Fatalf("put %d: %v, %v", i, again, err)
	}
}

// inboxed lists an inbox's bodies by their keys' numbers, and checks the counts.
func inboxed(t testing.TB, in *Inbox) map[int]string {
	t.Helper()
	all, counts := map[int]string{}, map[uint32]int{}
	err := in.Each(context.Background(), func(key [16]byte, label uint32, body []byte) error {
		i := int(binary.BigEndian.Uint64(key[8:]))
		if _, twice := all[i]; twice {
			t.Errorf("%d is there twice", i)
		}
		all[i] = string(body)
		counts[label]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for label, n := range counts {
		if in.Count(label) != n {
			t.Errorf("label %d: %d are counted and %d are there", label, in.Count(label), n)
		}
	}
	return all
}

// atOnce calls do with 0 to n-1 from so many goroutines.
func atOnce(n, callers int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}

func TestInboxPutOnce(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	in := inbox(t, q, "in")
	secret := in.Secret("test")
	for _, c := range []struct {
		key   int
		label uint32
		body  string
		again bool
		err   error
	}{
		{1, 0, "one", false, nil},
		{1, 0, "one", true, nil},
		{1, 0, "two", false, ErrTaken},
		{1, 1, "one", false, ErrTaken},
		{2, 1, "one", false, nil},
		{0, 0, "", false, nil},
	} {
		if again, err := putIn(in, c.key, c.label, c.body); again != c.again || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("put %d %d %q: %v, %v", c.key, c.label, c.body, again, err)
		}
	}
	if _, err := putIn(in, 3, 0, strings.Repeat("x", q.MaxContent()+1)); err == nil {
		t.Error("took more than fits")
	}
	long := strings.Repeat("x", q.MaxContent())
	mustPut(t, in, 4, 0, long)
	want := map[int]string{0: "", 1: "one", 2: "one", 4: long}
	if got := inboxed(t, in); fmt.Sprint(got) != fmt.Sprint(want) || in.Count(0) != 3 || in.Count(7) != 0 {
		t.Errorf("%.80v", got)
	}
	q.Close()
	if _, err := putIn(in, 9, 0, ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after the queue was closed: %v", err)
	}
	q = open(t, dir)
	in = inbox(t, q, "in")
	if got := inboxed(t, in); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after a restart: %.80v", got)
	}
	if again, err := putIn(in, 1, 0, "one"); !again || err != nil {
		t.Errorf("after a restart: %v, %v", again, err)
	}
	if !bytes.Equal(in.Secret("test"), secret) || bytes.Equal(in.Secret("another"), secret) {
		t.Error("its secret is another one after a restart, or one for all purposes")
	}
}

// On a single core, too, what comes at once is written together, even if the disk takes no
// time for which they could gather. It counts groups: 64 callers who wait for each other need
// 50 of these.
func TestInboxGathersOnASingleCore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	in := inbox(t, open(t, t.TempDir()), "in")
	disk := &counting{groups: in.groups}
	in.groups = disk
	const callers, puts = 64, 3200
	atOnce(puts, callers, func(i int) { mustPut(t, in, i, 0, "body") })
	if disk.n > puts/8 {
		t.Errorf("%d contents of %d callers are in %d groups", puts, callers, disk.n)
	}
}

// counting is a disk that keeps nothing.
type counting struct {
	groups
	n int // written by the committer, before it answers
}

func (c *counting) Append(context.Context, []byte) error {
	c.n++
	return nil
}

// Of all who put at once one wins each key, whether it comes in the same group, in
// the next or later, and a repeat is answered when its content is on disk.
func TestInboxManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	in := inbox(t, q, "in")
	var won, again, lost atomic.Int64
	atOnce(2000, 64, func(i int) {
		switch a, err := putIn(in, i%250, uint32(i%2), fmt.Sprint(i%500)); {
		case err == nil && !a:
			won.Add(1)
		case err == nil:
			again.Add(1)
		case errors.Is(err, ErrTaken):
			lost.Add(1)
		default:
			t.Error(err)
		}
	})
	if won.Load() != 250 || again.Load() != 750 || lost.Load() != 1000 {
		t.Errorf("%d won, %d came again, %d were refused", won.Load(), again.Load(), lost.Load())
	}
	there := inboxed(t, in)
	if n := in.groups.End().Number; len(there) != 250 || n >= 250 {
		t.Errorf("%d are there in %d groups", len(there), n)
	}
	q.Close()
	if again := inboxed(t, inbox(t, open(t, dir), "in")); fmt.Sprint(again) != fmt.Sprint(there) {
		t.Error("a restart has changed what is there")
	}
}

func TestASealedInboxTakesNothing(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	in := inbox(t, q, "in")
	mustPut(t, in, 1, 0, "one")
	for range 2 {
		if err := in.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(in *Inbox) {
		t.Helper()
		for _, i := range []int{1, 2} {
			if _, err := putIn(in, i, 0, "one"); !errors.Is(err, ErrSealed) {
				t.Errorf("put %d into a sealed inbox: %v", i, err)
			}
		}
		if len(inboxed(t, in)) != 1 {
			t.Error("what was in it is not there")
		}
	}
	check(in)
	q.Close()
	check(inbox(t, open(t, dir), "in"))
}

// What stands behind a Seal is refused, and what stood before it is in.
func TestSealAmongPuts(t *testing.T) {
	in := inbox(t, open(t, t.TempDir()), "in")
	var kept sync.Map
	var wg sync.WaitGroup
	wg.Go(func() {
		atOnce(3000, 32, func(i int) {
			switch _, err := putIn(in, i, 0, "x"); {
			case err == nil:
				kept.Store(i, true)
			case !errors.Is(err, ErrSealed):
				t.Error(err)
			}
		})
	})
	time.Sleep(5 * time.Millisecond)
	if err := in.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	there := inboxed(t, in)
	wg.Wait()
	n := 0
	kept.Range(func(i, _ any) bool {
		n++
		if _, is := there[i.(int)]; !is {
			t.Errorf("%v was acknowledged and is not there", i)
		}
		return true
	})
	if n != len(there) {
		t.Errorf("%d were acknowledged and %d are there", n, len(there))
	}
}

// Nothing of an inbox is readable on disk, and what is left of it when it has been
// dropped does not tell it either: the key is gone, and was written over.
func TestADroppedInboxIsGone(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	in := inbox(t, q, "in")
	mustPut(t, in, 1, 0, "a body that is not to be found")
	key, err := os.Open(q.inboxPath("in", "key"))
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	secret := in.Secret("test")
	for _, trace := range [][]byte{[]byte("a body that"), secret} {
		if found := find(t, dir, trace); found != "" {
			t.Errorf("%s holds %q", found, trace)
		}
	}
	if names, err := q.Boxes(t.Context(), "i"); err != nil || !slices.Equal(names, []string{"in"}) {
		t.Errorf("boxes %q, %v", names, err)
	}
	for range 2 {
		if err := q.Drop(t.Context(), "in"); err != nil {
			t.Fatal(err)
		}
	}
	text := make([]byte, 200)
	if n, _ := key.Read(text); n == 0 || !bytes.Equal(text[:n], make([]byte, n)) {
		t.Errorf("the key's %d bytes were not written over: %q", n, text[:n])
	}
	left, err := os.ReadDir(q.logs)
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left: %v", left, err)
	}
	if _, err := putIn(in, 2, 0, ""); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a put after it was dropped: %v", err)
	}
	again := inbox(t, q, "in")
	if len(inboxed(t, again)) != 0 || bytes.Equal(again.Secret("test"), secret) {
		t.Error("a new inbox of that name is the old one")
	}
}

// find is a file below a folder that holds the bytes.
func find(t *testing.T, dir string, what []byte) (found string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, what) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Wherever a crash cuts a Drop short, the next start finishes it.
func TestADropThatWasCutShort(t *testing.T) {
	for name, crash := range map[string]func(q *Queue){
		"renamed": func(q *Queue) {
			os.Rename(q.inboxPath("in", "log"), q.inboxPath("in", "dropped"))
		},
		"without its key": func(q *Queue) {
			os.Rename(q.inboxPath("in", "log"), q.inboxPath("in", "dropped"))
			os.Remove(q.inboxPath("in", "key"))
		},
		"without its record": func(q *Queue) {
			os.Rename(q.inboxPath("in", "log"), q.inboxPath("in", "dropped"))
			os.Remove(q.inboxPath("in", "key"))
			q.inboxes.Delete(context.Background(), checkpointKey("in"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			q := open(t, dir)
			mustPut(t, inbox(t, q, "in"), 1, 0, "one")
			q.open["in"].close()
			q.know("in", nil)
			crash(q)
			q.Close()
			q = open(t, dir)
			if in := inbox(t, q, "in"); len(inboxed(t, in)) != 0 {
				t.Error("what was to be dropped is there again")
			}
		})
	}
}

// A child puts with many callers and is killed at any time: all that it was
// answered for is there. The child is this test, told by its environment.
func TestKilledInbox(t *testing.T) {
	if dir := os.Getenv("CONFETTI_TEST_INBOX"); dir != "" {
		first, err := strconv.Atoi(os.Getenv("CONFETTI_TEST_FIRST"))
		if err != nil {
			t.Fatal(err)
		}
		in := inbox(t, open(t, dir), "in")
		var says sync.Mutex
		atOnce(1<<30, 64, func(i int) {
			if _, err := putIn(in, first+i, 0, strings.Repeat(fmt.Sprint(first+i, " "), 100)); err != nil {
				t.Error(err)
			}
			says.Lock()
			defer says.Unlock()
			fmt.Println("acknowledged", first+i)
		})
	}
	dir := t.TempDir()
	r := stattest.Rand(t)
	acknowledged := map[int]bool{}
	for round := range 4 {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledInbox$")
		child.Env = append(os.Environ(), "CONFETTI_TEST_INBOX="+dir, fmt.Sprint("CONFETTI_TEST_FIRST=", round*1_000_000))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for left := 1 + r.IntN(3000); lines.Scan(); left-- {
			if number, found := strings.CutPrefix(lines.Text(), "acknowledged "); found {
				if i, err := strconv.Atoi(number); err == nil { // not a torn line
					acknowledged[i] = true
				}
			}
			if left == 0 {
				child.Process.Kill()
			}
		}
		child.Wait()
		log := filepath.Join(dir, "inboxes", "in.log")
		if round%2 == 1 { // and a write that was torn
			f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.Write(append([]byte{0, 0, 4, 0}, make([]byte, r.IntN(500))...))
			f.Close()
		}
		q := open(t, dir)
		there := inboxed(t, inbox(t, q, "in"))
		for i := range acknowledged {
			if there[i] != strings.Repeat(fmt.Sprint(i, " "), 100) {
				t.Fatalf("round %d: %d was acknowledged and is not there", round, i)
			}
		}
		q.Close()
	}
	if len(acknowledged) < 1000 {
		t.Errorf("only %d were acknowledged", len(acknowledged))
	}
}

// logged opens a queue that tells what it finds.
func logged(t *testing.T, dir string) (*Queue, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	q, err := Open(t.Context(), Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q, &said
}

// Whatever a disk does to a file of an inbox while the queue is closed: it is
// refused by name, or mended and said; and set aside, all that can be read is there,
// and the rest is counted.
func TestARottenInbox(t *testing.T) {
	const n = 20 // each in a group of its own
	flip := func(share float64) func([]byte) []byte {
		return func(b []byte) []byte { b[int(share*float64(len(b)-1))] ^= 1; return b }
	}
	cut := func(share float64) func([]byte) []byte {
		return func(b []byte) []byte { return b[:int(share*float64(len(b)))] }
	}
	gone := func([]byte) []byte { return nil }
	for name, c := range map[string]struct {
		file  string // ends with
		spoil func([]byte) []byte

		want  string // of the refusal, or of the log
		mends bool
		lost  uint64 // when it is set aside
	}{
		"one is changed":             {file: "in.log", spoil: flip(0.3), want: "in.log", lost: 1},
		"the last is changed":        {file: "in.log", spoil: flip(0.99), want: "in.log", lost: 1},
		"the last is cut":            {file: "in.log", spoil: cut(0.995), want: "in.log", lost: 1},
		"half is gone":               {file: "in.log", spoil: cut(0.5), want: "in.log", lost: 11},
		"all is gone":                {file: "in.log", spoil: cut(0), want: "in.log", lost: n},
		"the file is gone":           {file: "in.log", spoil: gone, want: "in.log", lost: n},
		"its title is changed":       {file: "in.log", spoil: flip(0.001), want: "in.log"},
		"the key is changed":         {file: "in.key", spoil: flip(0.5), want: "in.key", lost: n},
		"the key is empty":           {file: "in.key", spoil: cut(0), want: "in.key", lost: n},
		"the key is gone":            {file: "in.key", spoil: gone, want: "in.key", lost: n},
		"a piece of a write follows": {file: "in.log", spoil: func(b []byte) []byte { return append(b, 0, 0, 1, 0, 7, 7) }, want: "cut off", mends: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			q := open(t, dir)
			in := inbox(t, q, "in")
			for i := range n {
				mustPut(t, in, i, 0, strings.Repeat("x", 100))
			}
			q.Close()
			path := filepath.Join(dir, "inboxes", c.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if bad := c.spoil(slices.Clone(text)); bad == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, bad, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			q, said := logged(t, dir)
			in, err = q.Inbox(t.Context(), "in", Refuse)
			if c.mends {
				if err != nil || !strings.Contains(said.String(), c.want) || len(inboxed(t, in)) != n {
					t.Errorf("%v; the log says %q", err, said)
				}
				return
			}
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("it was opened: %v", err)
			}
			if in, err = q.Inbox(t.Context(), "in", SetAside); err != nil {
				t.Fatal("set aside: ", err)
			}
			check := func(when string) {
				t.Helper()
				lost, gaps := in.Aside()
				there := len(inboxed(t, in))
				if lost != c.lost || there < n-int(c.lost) || (gaps > 0) != (c.lost > 0) {
					t.Errorf("%s: %d are lost in %d gaps, want %d, and %d are there", when, lost, gaps, c.lost, there)
				}
			}
			check("at first")
			if c.lost > 0 { // who is lost may come again, and it goes on
				if again, err := putIn(in, 1000, 0, "more"); again || err != nil {
					t.Error(err)
				}
			}
			q.Close()
			q = open(t, dir)
			if in, err = q.Inbox(t.Context(), "in", Refuse); err != nil {
				t.Fatal("after it was set aside: ", err)
			}
			check("at the next start")
			if err := in.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			q.Close()
			q = open(t, dir)
			in = inbox(t, q, "in")
			check("sealed")
			if err := q.Drop(t.Context(), "in"); err != nil {
				t.Fatal(err)
			}
			if len(inboxed(t, inbox(t, q, "in"))) != 0 {
				t.Error("it was not dropped")
			}
		})
	}
}

// What rots while the queue is open is found before anything is made of it, and set
// aside by itself.
func TestRotWhileItIsOpen(t *testing.T) {
	write := func(text string, at int64) func(*os.File) error {
		return func(f *os.File) error { _, err := f.WriteAt([]byte(text), at); return err }
	}
	cut := func(size int64) func(*os.File) error { return func(f *os.File) error { return f.Truncate(size) } }
	for name, c := range map[string]struct {
		spoil func(*os.File) error
		lost  uint64
	}{
		"one is changed":       {write("rot", 700), 1},
		"its title is changed": {write("rot", 3), 0},
		"the rest is gone":     {cut(700), 6},
		"all is gone":          {cut(0), 9},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := inbox(t, open(t, dir), "in")
			for i := range 9 {
				mustPut(t, in, i, uint32(i%2), strings.Repeat("x", 100))
			}
			if err := in.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(filepath.Join(dir, "inboxes", "in.log"), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := c.spoil(f); err != nil {
				t.Fatal(err)
			}
			if err := in.Each(t.Context(), func([16]byte, uint32, []byte) error { return nil }); !errors.Is(err, ErrDamaged) {
				t.Errorf("read: %v", err)
			}
			if err := in.SetAside(t.Context()); err != nil {
				t.Fatal(err)
			}
			if lost, _ := in.Aside(); lost != c.lost || len(inboxed(t, in)) != 9-int(c.lost) || in.Count(0)+in.Count(1) != 9-int(c.lost) {
				t.Errorf("%d are lost, and %d are there", lost, in.Count(0)+in.Count(1))
			}
		})
	}
}

// What was set aside and is there again, since the disk was mended, is counted
// once, whoever came again meanwhile.
func TestWhatWasSetAsideComesBack(t *testing.T) {
	dir := t.TempDir()
	q := open(t, dir)
	in := inbox(t, q, "in")
	for i := range 5 {
		mustPut(t, in, i, 0, strings.Repeat("x", 100))
	}
	q.Close()
	log := filepath.Join(dir, "inboxes", "in.log")
	turn := func() {
		t.Helper()
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(log, text[:len(text):len(text)], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func() int {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return len(text) / 2
	}()
	turn()
	q = open(t, dir)
	in, err := q.Inbox(t.Context(), "in", SetAside)
	if err != nil {
		t.Fatal(err)
	}
	came := 0
	for i := range 5 {
		again, err := putIn(in, i, 0, strings.Repeat("x", 100))
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			came++
		}
	}
	if came != 1 {
		t.Errorf("%d could come again", came)
	}
	q.Close()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	text[at] ^= 1
	if err := os.WriteFile(log, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if in = inbox(t, open(t, dir), "in"); len(inboxed(t, in)) != 5 || in.Count(0) != 5 {
		t.Errorf("%d are there", in.Count(0))
	}
}

// An inbox of the version before lay in a box: it is not passed over.
func TestAnInboxOfAnEarlierVersion(t *testing.T) {
	q := open(t, t.TempDir())
	box(t, q, "in")
	if _, err := q.Inbox(t.Context(), "in", Refuse); err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Error(err)
	}
}

func TestOneQueueAFolder(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	if q, err := Open(t.Context(), Config{Dir: dir}); err == nil {
		q.Close()
		t.Error("a second queue in the folder")
	}
}

func FuzzGroup(f *testing.F) {
	f.Add(appendContent(beginGroup(nil, 3), [16]byte{1}, 2, []byte("body")))
	f.Add(beginGroup(nil, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		costlimit.Heap(t, costlimit.Factor, len(b), func() {
			before, contents, err := parseGroup(b)
			if err != nil {
				return
			}
			again := beginGroup(nil, before)
			for c := range contents {
				again = appendContent(again, c.key, c.label, c.body)
			}
			if !bytes.Equal(again, b) {
				t.Error("a group has two forms")
			}
		})
	})
}

func FuzzKey(f *testing.F) {
	f.Add(marshalKey(make([]byte, keySize)))
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text), func() {
			if key, err := parseKey(text); err == nil && !bytes.Equal(marshalKey(key), text) {
				t.Error("a key has two forms")
			}
		})
	})
}
