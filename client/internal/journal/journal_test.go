package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// store is a Store in memory, whose writes fail, or die having written some of what they were to.
type store struct {
	kept  map[string][]byte
	stamp map[string]int
	fails int // the write that fails, from 1 on; 0: none
	torn  int // how many bytes of it are there; -1: none, and it is said
}

func newStore() *store { return &store{kept: map[string][]byte{}, stamp: map[string]int{}} }

var errFull = errors.New("the disk is full")

// write is whether this one fails.
func (s *store) write() bool {
	s.fails--
	return s.fails == 0
}

func (s *store) Load(name string) ([]byte, error) {
	data, there := s.kept[name]
	if !there {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(data), nil
}

func (s *store) Append(name string, at int, data []byte) error {
	before, there := s.kept[name]
	if !there {
		return fs.ErrNotExist
	}
	failed := s.write()
	if failed && s.torn < 0 {
		return errFull
	}
	if failed {
		data = data[:min(s.torn, len(data))]
	}
	s.kept[name] = append(bytes.Clone(before[:at]), data...)
	s.stamp[name]++
	if failed {
		return errFull
	}
	return nil
}

func (s *store) Replace(name string, data []byte) error {
	if s.write() {
		return errFull
	}
	s.kept[name] = bytes.Clone(data)
	s.stamp[name]++
	return nil
}

func (s *store) Remove(name string) error {
	if s.write() {
		return errFull
	}
	delete(s.kept, name)
	return nil
}

func (s *store) Stamp(name string) (any, error) {
	if _, there := s.kept[name]; !there {
		return nil, fs.ErrNotExist
	}
	return s.stamp[name], nil
}

// written is a store whose journal has three records.
func written(t testing.TB) (*store, *Journal) {
	t.Helper()
	s := newStore()
	if err := Make(s); err != nil {
		t.Fatal(err)
	}
	j, compacted, records, err := Read(s)
	if err != nil || len(records)+len(compacted) > 0 {
		t.Fatal(records, err)
	}
	for i := range 3 {
		if err := j.Append(fmt.Appendf(nil, `{"record":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	return s, j
}

func texts(records [][]byte) (all []string) {
	for _, r := range records {
		all = append(all, string(r))
	}
	return all
}

// compact are bytes that a journal may be compacted to: breaks of lines and titles are nothing to them.
var compact = []byte("three\n\x00confetti-ledger/v4\n")

var three = []string{`{"record":0}`, `{"record":1}`, `{"record":2}`}

func TestRecordsAreKeptInOrder(t *testing.T) {
	s, j := written(t)
	again, _, records, err := Read(s)
	if err != nil || !slices.Equal(texts(records), three) || again.Size() != j.Size() || j.Size() != len(s.kept[Name]) {
		t.Fatalf("%q, %v", records, err)
	}
	if err := Make(s); err != nil || len(s.kept[Name]) != j.Size() {
		t.Errorf("making what is there: %v", err)
	}
	if err := j.Replace(compact); err != nil || j.Lines() != 0 {
		t.Fatal(err)
	}
	if err := j.Append([]byte("since")); err != nil || j.Lines() != len("01234567 since\n") {
		t.Fatal(j.Lines(), err)
	}
	if again, compacted, records, err := Read(s); err != nil || !bytes.Equal(compacted, compact) || !slices.Equal(texts(records), []string{"since"}) || again.Lines() != j.Lines() || again.Size() != j.Size() || again.crc != j.crc {
		t.Errorf("replaced: %q, %q, %v", compacted, records, err)
	}
	if _, _, _, err := Read(newStore()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
}

// An older copy, or a journal that lost its last records, is seen: what was said once would
// be said again.
func TestALossIsSeen(t *testing.T) {
	s, j := written(t)
	lossIsSeen(t, s, j, 3)
	if err := errors.Join(j.Replace(compact), j.Append([]byte("since"))); err != nil {
		t.Fatal(err)
	}
	lossIsSeen(t, s, j, 1)
	// No crash leaves a part of what was compacted: without the end it is damage too.
	whole := s.kept[Name]
	delete(s.kept, endName)
	for cut := range bytes.Index(whole, compact) + len(compact) {
		s.kept[Name] = whole[:cut]
		if _, _, _, err := Read(s); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off at %d of %d: %v", cut, len(whole), err)
		}
	}
}

func lossIsSeen(t *testing.T, s *store, j *Journal, lines int) {
	t.Helper()
	whole := s.kept[Name]
	for cut := range whole {
		s.kept[Name] = whole[:cut]
		if _, _, _, err := Read(s); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off at %d of %d: %v", cut, len(whole), err)
		}
	}
	delete(s.kept, Name)
	if err := Make(s); !errors.Is(err, ErrDamaged) {
		t.Errorf("made anew in the place of a lost one: %v", err)
	}
	s.kept[Name] = whole
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		s.kept[Name] = changed
		if _, _, records, err := Read(s); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrLater) {
			t.Fatalf("a bit of byte %d: %q, %v", at, records, err)
		}
	}
	// The end is the weaker witness: without it, or with a damaged one, the journal stands.
	s.kept[Name] = whole
	end := s.kept[endName]
	for _, bad := range [][]byte{nil, {}, end[:len(end)-1], append(bytes.Clone(end), ' '), bytes.Replace(end, []byte(" "), []byte("  "), 1), []byte("-1 00000000 00000000\n"), []byte("99999999999999999999 0 0\n")} {
		s.kept[endName] = bad
		if _, _, records, err := Read(s); err != nil || len(records) != lines {
			t.Errorf("with the end %q: %q, %v", bad, records, err)
		}
	}
	if _, _, _, err := Read(s); err != nil {
		t.Fatal(err)
	}
	if j.Reached(); !bytes.Equal(s.kept[endName], end) {
		t.Errorf("the end is %q, and not written anew as %q", s.kept[endName], end)
	}
}

// A write that fails, or dies anywhere within, leaves all that was acknowledged; a torn line is
// passed over, and cut off by the next.
func TestAFailedAppendLosesNothing(t *testing.T) {
	for torn := -1; torn < 30; torn++ {
		s, j := written(t)
		s.fails, s.torn = 1, torn
		fourth := []byte(`{"record":3}`)
		if err := j.Append(fourth); !errors.Is(err, errFull) {
			t.Fatalf("torn at %d: %v", torn, err)
		}
		again, _, records, err := Read(s)
		whole := torn >= len(Line(nil, fourth))
		if err != nil || !slices.Equal(texts(records)[:3], three) || (len(records) == 4) != whole {
			t.Fatalf("torn at %d: %q, %v", torn, records, err)
		}
		if err := again.Append([]byte("next")); err != nil {
			t.Fatal(err)
		}
		if _, _, records, err := Read(s); err != nil || texts(records)[len(records)-1] != "next" {
			t.Fatalf("torn at %d, and then: %q, %v", torn, records, err)
		}
	}
	// Of a replacement there is the old journal or the new one, wherever it fails.
	for fails := 1; fails <= 3; fails++ {
		s, j := written(t)
		s.fails = fails
		err := j.Replace(compact)
		_, compacted, records, unread := Read(s)
		if before, behind := len(compacted) == 0, bytes.Equal(compacted, compact); unread != nil || !(before && slices.Equal(texts(records), three) || behind && len(records) == 0) || err == nil && !behind {
			t.Errorf("the write %d failed (%v): %q, %q, %v", fails, err, compacted, records, unread)
		}
	}
}

// A journal of an earlier version is read, and is of this one after the next record; one of a
// later version is not touched.
func TestVersions(t *testing.T) {
	for _, head := range earlier {
		s := newStore()
		s.kept[Name] = Line([]byte(head), []byte("old"))
		j, _, records, err := Read(s)
		if err != nil || !slices.Equal(texts(records), []string{"old"}) {
			t.Fatalf("%q: %q, %v", head, records, err)
		}
		if err := j.Append([]byte("new")); err != nil || !bytes.HasPrefix(s.kept[Name], []byte(Head)) {
			t.Fatalf("%q: %v: %q", head, err, s.kept[Name])
		}
		if _, _, records, err := Read(s); err != nil || !slices.Equal(texts(records), []string{"old", "new"}) {
			t.Errorf("%q: %q, %v", head, records, err)
		}
	}
	for text, want := range map[string]error{"confetti-ledger/v5\n": ErrLater, "confetti-ledger/v33\n": ErrLater, "confetti-ledger/v4": ErrDamaged, Head: ErrDamaged, "": ErrDamaged, "other\n": ErrDamaged} {
		s := newStore()
		s.kept[Name] = []byte(text)
		if _, _, _, err := Read(s); !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	s, j := written(f)
	f.Add(s.kept[Name])
	if err := errors.Join(j.Replace(compact), j.Append([]byte("since"))); err != nil {
		f.Fatal(err)
	}
	f.Add(s.kept[Name])
	f.Add([]byte(Head))
	f.Add(bytes.Replace(begin(nil), []byte("0 0"), []byte("9 0"), 1))
	f.Add([]byte(earlier[0] + "00000000 \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			compacted, records, good, err := Parse(data)
			if err != nil {
				return
			}
			again := begin(compacted)
			if head := data[:bytes.IndexByte(data, '\n')+1]; string(head) != Head {
				again = bytes.Clone(head)
			}
			for _, r := range records {
				again = Line(again, r)
			}
			if !bytes.Equal(again, data[:good]) {
				t.Errorf("%d good bytes of %q are written as %q", good, data, again)
			}
		})
	})
}
