package hashchain

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

const (
	title = "a log of a test"
	most  = 64
)

// written makes a log with these bodies and returns its path and where each frame begins.
// framed returns a body behind the room that Append fills.
func framed(body []byte) []byte { return append(make([]byte, Frame), body...) }

func written(t interface {
	Helper()
	Fatal(...any)
}, dir string, bodies ...[]byte) (path string, begins []int64) {
	t.Helper()
	path = filepath.Join(dir, "log")
	os.Remove(path)
	if err := Create(path, title); err != nil {
		t.Fatal(err)
	}
	l, err := Open(path, title, most, Walk{}, func(_, _ []byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		begins = append(begins, l.size)
		if err := l.Append(framed(b)); err != nil {
			t.Fatal(err)
		}
	}
	begins = append(begins, l.size)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path, begins
}

func reread(path string, known Point) (bodies [][]byte, l *Log, err error) {
	l, err = Open(path, title, most, Walk{Known: known}, func(_, b []byte) error {
		bodies = append(bodies, bytes.Clone(b))
		return nil
	})
	if err == nil {
		l.Close()
	}
	return bodies, l, err
}

func TestWhatWasAppendedIsRead(t *testing.T) {
	path, _ := written(t, t.TempDir(), []byte("one"), nil, []byte("three"))
	bodies, l, err := reread(path, Point{})
	if err != nil || len(bodies) != 3 || string(bodies[0]) != "one" || len(bodies[1]) != 0 || string(bodies[2]) != "three" || l.End().Number != 3 || l.Torn() != 0 {
		t.Errorf("%q, %v", bodies, err)
	}
	if err := Create(path, title); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a log in the place of another: %v", err)
	}
	if _, err := Open(path, "another title", most, Walk{}, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("under another title: %v", err)
	}
	if _, err := Open(path+"x", title, most, Walk{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that is not there: %v", err)
	}
}

func drawBodies(t *rapid.T, least int) [][]byte {
	return rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, most), least, 5).Draw(t, "bodies")
}

// However a crash cuts or blots the last frame, all before it is there, and the log goes on.
func TestATornEndIsCutOff(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		bodies := drawBodies(t, 1)
		path, begins := written(t, dir, bodies...)
		n := len(bodies) - 1 // the last was under way
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := text[begins[n]:]
		last = last[:rapid.IntRange(0, len(last)-1).Draw(t, "cut")]
		for range rapid.IntRange(0, 2).Draw(t, "blots") {
			if len(last) > 0 {
				last[rapid.IntRange(0, len(last)-1).Draw(t, "blot")] = 0
			}
		}
		if err := os.WriteFile(path, text[:int(begins[n])+len(last)], 0o600); err != nil {
			t.Fatal(err)
		}
		got, l, err := reread(path, Point{})
		if err != nil || len(got) != n || l.Torn() != int64(len(last)) {
			t.Fatalf("%d groups of %d, %d bytes cut: %v", len(got), n, l.torn, err)
		}
		if l, err = Open(path, title, most, Walk{}, func(_, _ []byte) error { return nil }); err != nil || l.Torn() != 0 {
			t.Fatal("it was not cut off: ", err)
		}
		defer l.Close()
		if err := l.Append(framed([]byte("more"))); err != nil {
			t.Fatal(err)
		}
		if got, _, err = reread(path, Point{}); err != nil || len(got) != n+1 || string(got[n]) != "more" {
			t.Fatalf("after the repair: %q, %v", got, err)
		}
	})
}

// One changed byte anywhere but in the last frame, or a frame that is missing, is
// never taken for a torn end.
func TestDamageIsFound(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		bodies := drawBodies(t, 2)
		path, begins := written(t, dir, bodies...)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := len(bodies)
		switch rapid.IntRange(0, 2).Draw(t, "damage") {
		case 0:
			text[rapid.IntRange(0, int(begins[n-1])-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
		case 1: // a frame is gone
			i := rapid.IntRange(0, n-2).Draw(t, "frame")
			text = append(text[:begins[i]:begins[i]], text[begins[i+1]:]...)
		case 2: // two have changed places, if they differ in more than that
			i := rapid.IntRange(0, n-2).Draw(t, "frame")
			text = bytes.Join([][]byte{text[:begins[i]], text[begins[i+1]:begins[i+2]], text[begins[i]:begins[i+1]], text[begins[i+2]:]}, nil)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := reread(path, Point{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d groups of %d were read: %v", len(got), n, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
			t.Fatal("a damaged log was written to")
		}
	})
}

// A log that ends before a point it had reached, or has another group there, is
// refused: that is what tells a rotten last frame from a torn one.
func TestAShorterLogIsRefused(t *testing.T) {
	path, begins := written(t, t.TempDir(), []byte("one"), []byte("two"))
	_, l, err := reread(path, Point{})
	if err != nil {
		t.Fatal(err)
	}
	end := l.End()
	if _, _, err := reread(path, end); err != nil {
		t.Errorf("as long as it was: %v", err)
	}
	other := end
	other.Digest[0] ^= 1
	if _, _, err := reread(path, other); !errors.Is(err, ErrDamaged) {
		t.Errorf("another last group: %v", err)
	}
	for name, cut := range map[string]int64{"a cut last group": begins[2] - 1, "without the last group": begins[1], "without groups": begins[0]} {
		if err := os.Truncate(path, cut); err != nil {
			t.Fatal(err)
		}
		if _, _, err := reread(path, end); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := reread(path, Point{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("an empty file: %v", err)
	}
}

func TestMoreThanACrashLeaves(t *testing.T) {
	path, _ := written(t, t.TempDir(), []byte("one"))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Write(make([]byte, frameHead+Head+most+1))
	f.Close()
	if _, _, err := reread(path, Point{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("zeros longer than any group: %v", err)
	}
}

func TestADiskThatDoesNotTakeIt(t *testing.T) {
	path, _ := written(t, t.TempDir())
	l, err := Open(path, title, most, Walk{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.write = func(b []byte, at int64) error {
		l.file.WriteAt(b[:len(b)/2], at) // as much as fits
		return &os.PathError{Op: "write", Err: syscall.ENOSPC}
	}
	if err := l.Append(framed([]byte("one"))); !errors.Is(err, ErrFull) {
		t.Errorf("a full disk: %v", err)
	}
	l.write = l.writeFile
	if err := l.Append(framed([]byte("two"))); err != nil {
		t.Errorf("with room again: %v", err)
	}
	l.write = func([]byte, int64) error { return syscall.EIO }
	if err := l.Append(framed([]byte("three"))); err == nil || errors.Is(err, ErrFull) {
		t.Errorf("a broken disk: %v", err)
	}
	l.write = l.writeFile
	if err := l.Append(framed([]byte("four"))); err == nil {
		t.Error("it went on without knowing what is on disk")
	}
	if bodies, _, err := reread(path, Point{}); err != nil || len(bodies) != 1 || string(bodies[0]) != "two" {
		t.Errorf("%q, %v", bodies, err)
	}
}

func TestPointsAsText(t *testing.T) {
	p := Begin("x")
	p.Number = 17
	text, err := p.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var q Point
	if err := q.UnmarshalText(text); err != nil || q != p {
		t.Errorf("%v, %v", q, err)
	}
	for i := range text {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		if q.UnmarshalText(bad) == nil || q.UnmarshalText(text[:i]) == nil {
			t.Errorf("read with byte %d flipped, or cut there", i)
		}
	}
}

func FuzzLog(f *testing.F) {
	path, _ := written(f, f.TempDir(), []byte("one"), []byte("two"))
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Fuzz(func(t *testing.T, text []byte) {
		costlimit.Heap(t, costlimit.Factor, len(text)+64<<10, func() { // it reads by the megabyte
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			bodies, l, err := reread(path, Point{})
			if err != nil {
				return
			}
			again, _, err := reread(path, l.End())
			if err != nil || len(again) != len(bodies) {
				t.Errorf("reads differently the second time: %v", err)
			}
		})
	})
}

func FuzzGroup(f *testing.F) {
	begin := Begin(title)
	f.Add(append(begin.Append(nil), "body"...))
	f.Fuzz(func(t *testing.T, group []byte) {
		costlimit.Heap(t, costlimit.Factor, len(group), func() {
			walk := Walk{End: begin}
			head, body, err := walk.Group(group)
			if err != nil {
				return
			}
			if !bytes.Equal(append(begin.Append(nil), body...), group) || !bytes.Equal(append(head, body...), group) || walk.End.Number != 1 {
				t.Error("a group has two forms")
			}
		})
	})
}

// What is damaged can be passed over by whoever asks for it, group by group: all
// others are read, and the log goes on behind them.
func TestGapsCanBeSkipped(t *testing.T) {
	bodies := [][]byte{[]byte("one"), []byte("two"), []byte("three"), []byte("four")}
	for name, c := range map[string]struct {
		spoil func(text []byte, begins []int64) []byte
		want  string
		gaps  string
	}{
		"the first":         {func(b []byte, at []int64) []byte { b[at[0]+9] ^= 1; return b }, "two three four", "[{1 1}]"},
		"a length":          {func(b []byte, at []int64) []byte { b[at[1]] ^= 1; return b }, "one three four", "[{2 2}]"},
		"two":               {func(b []byte, at []int64) []byte { b[at[1]+9] ^= 1; b[at[2]+50] ^= 1; return b }, "one four", "[{2 3}]"},
		"two apart":         {func(b []byte, at []int64) []byte { b[at[0]+9] ^= 1; b[at[2]+50] ^= 1; return b }, "two four", "[{1 1} {3 3}]"},
		"one that is gone":  {func(b []byte, at []int64) []byte { return append(b[:at[1]:at[1]], b[at[2]:]...) }, "one three four", "[{2 2}]"},
		"the last":          {func(b []byte, at []int64) []byte { b[at[3]+50] ^= 1; return b }, "one two three", "[{4 4}]"},
		"the last two":      {func(b []byte, at []int64) []byte { return b[:at[2]] }, "one two", "[{3 4}]"},
		"junk between them": {func(b []byte, at []int64) []byte { return bytes.Join([][]byte{b[:at[1]], {1, 2, 3}, b[at[1]:]}, nil) }, "one two three four", "[{2 1}]"},
	} {
		t.Run(name, func(t *testing.T) {
			path, begins := written(t, t.TempDir(), bodies...)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, whole, err := reread(path, Point{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.spoil(text, begins), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, _, err := reread(path, whole.End()); !errors.Is(err, ErrDamaged) {
				t.Errorf("not asked to skip anything: %v", err)
			}
			read := func(known Point) (string, string) {
				t.Helper()
				var gaps []Gap
				var got []string
				l, err := Open(path, title, most, Walk{Known: known, Skip: func(g Gap) error { gaps = append(gaps, g); return nil }}, func(_, body []byte) error {
					got = append(got, string(body))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if known != (Point{}) {
					if l.End() != whole.End() {
						t.Errorf("it goes on behind group %d", l.End().Number)
					}
					if err := l.Append(framed([]byte("five"))); err != nil {
						t.Fatal(err)
					}
				}
				return strings.Join(got, " "), fmt.Sprint(gaps)
			}
			if got, gaps := read(whole.End()); got != c.want || gaps != c.gaps {
				t.Errorf("%s, without %s; want %s, without %s", got, gaps, c.want, c.gaps)
			}
			if got, gaps := read(Point{}); got != c.want+" five" || gaps != c.gaps {
				t.Errorf("with one more: %s, without %s; want %s five, without %s", got, gaps, c.want, c.gaps)
			}
		})
	}
}

// A log is read while it is written, as far as it goes.
func TestEach(t *testing.T) {
	path, begins := written(t, t.TempDir(), []byte("one"), []byte("two"))
	l, err := Open(path, title, most, Walk{}, func(_, _ []byte) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Append(framed([]byte("three"))); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := l.Each(Walk{}, func(_, _ []byte) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d groups: %v", n, err)
	}
	for _, at := range []int64{begins[1] + 50, begins[2] + 50} {
		if _, err := l.file.WriteAt([]byte{0xff}, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Each(Walk{}, func(_, _ []byte) error { return nil }); !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged while it is open: %v", err)
	}
	var gaps []Gap
	if err := l.Each(Walk{Skip: func(g Gap) error { gaps = append(gaps, g); return nil }}, func(_, _ []byte) error { return nil }); err != nil || fmt.Sprint(gaps) != "[{2 3}]" {
		t.Errorf("without %v: %v", gaps, err)
	}
}
