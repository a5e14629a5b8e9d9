package hashchain

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// tight is a file of a disk that has room for so many bytes.
type tight struct {
	*os.File
	room int64
}

func (f tight) WriteAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) <= f.room {
		return f.File.WriteAt(b, at)
	}
	n, _ := f.File.WriteAt(b[:max(0, f.room-at)], at)
	return n, syscall.ENOSPC
}

// Groups that are written over zeros are found as others are, whatever became of the process:
// the zeros are no damage and no torn write. Where the disk has no room for zeros, groups go on.
func TestZerosAhead(t *testing.T) {
	layout := Layout{Title: title, Most: most, Ahead: 1 << 10}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, layout.Begin(Point{}), 0o600); err != nil {
		t.Fatal(err)
	}
	const room = 3000
	open := func() (l *Log, n int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		l, err = layout.Open(tight{f, room}, Walk{}, func(g Group) error {
			n++
			if string(g.Body) != fmt.Sprint("group ", n) {
				return fmt.Errorf("%q is group %d", g.Body, n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return l, n
	}
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	n, longer, over := 0, 0, 0
	for start := range 6 {
		l, found := open()
		if found != n || l.Torn() != 0 || size() != l.size {
			t.Fatalf("start %d: %d groups of %d, %d bytes torn, %d of %d", start, found, n, l.Torn(), l.size, size())
		}
		for {
			n++
			before := size()
			if err := l.Append(framed(fmt.Append(nil, "group ", n))); err == ErrFull {
				n--
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if size() > l.size {
				longer++
			}
			if size() == before {
				over++
			}
			if n == 10*(start+1) {
				break // as of a process that is killed
			}
		}
		if start == 1 {
			if err := l.Trim(); err != nil || size() != l.size {
				t.Errorf("%d bytes of %d: %v", size(), l.size, err)
			}
		}
		l.Close()
	}
	if most := int((room - 32) / (Frame + len("group 10"))); n < most-2 || longer == 0 || over == 0 {
		t.Errorf("%d groups of %d, behind %d of them zeros, %d over zeros", n, most, longer, over)
	}
	l, _ := open()
	l.Close()
	// What a crash has torn among the zeros is cut off and said.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = append(append(b, 0, 0, 0, 60, 7, 7), bytes.Repeat([]byte{0}, 500)...)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	l, found := open()
	defer l.Close()
	if found != n || l.Torn() != 6 {
		t.Errorf("%d groups of %d, %d bytes torn", found, n, l.Torn())
	}
}
