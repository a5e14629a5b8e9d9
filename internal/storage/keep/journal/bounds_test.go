package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// No length that is read allocates more than the file has: each four bytes of a small file of rows
// are made a large number, and what a start takes is in proportion to the file.
func TestLengthsAllocateNoMoreThanTheFileHas(t *testing.T) {
	w, _ := chained(t, Options{}, 4)
	whole := w.disk.names["in"+rowsFile].cache
	var o Options
	o.fill()
	refused, most := 0, uint64(0)
	for at := titleLine; at+4 <= len(whole); at++ {
		for _, n := range []uint32{1 << 31, 1 << 24, uint32(len(whole) - at - 8), uint32(len(whole) - at + 100)} {
			disk := w.disk.clone()
			binary.BigEndian.PutUint32(disk.names["in"+rowsFile].cache[at:], n)
			took := costlimit.Allocated(func() {
				s, err := openShelf(context.Background(), disk, "in", o, false)
				if err == nil {
					s.close(errClosed)
					return
				}
				if !errors.Is(err, keep.ErrDamaged) {
					t.Fatalf("byte %d, %d: %v", at, n, err)
				}
				refused++
			})
			if most = max(most, took); took > 96<<10+8*uint64(len(whole)) {
				t.Fatalf("byte %d made %d: %d bytes allocated for a file of %d", at, n, took, len(whole))
			}
		}
	}
	if refused < 100 {
		t.Errorf("%d were refused", refused)
	}
	t.Logf("a file of %d bytes, %d refused, at most %d bytes allocated", len(whole), refused, most)
}

// mostMemory is what a process may take while damage is found (storage.md 9).
const mostMemory = 64 << 20

// A bit that flips anywhere in a file of 40 MB, of rows of up to 16 MiB, is refused by name, at a
// start and by Check, in 64 MB beside the index.
func TestMemoryWhileDamageIsFound(t *testing.T) {
	dir := t.TempDir()
	if err := Create(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := s.Create(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(8, 9))
	value := make([]byte, keep.MaxValue)
	for i := range value {
		value[i] = byte(r.Uint32())
	}
	for i, size := range []int{100, keep.MaxValue, 80_000, 5 << 20, keep.MaxValue, 800, 1 << 20, 30} {
		if _, err := k.Insert(t.Context(), keep.Row{Table: 1, Key: fmt.Sprint(i), Value: value[:size]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	value = nil
	path := filepath.Join(dir, "in"+rowsFile)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	places := []int64{3, titleLine + 1, titleLine + 5} // the title, a length and a checksum
	for range 5 {
		places = append(places, r.Int64N(info.Size()))
	}
	for _, at := range append(places, info.Size()-1) {
		flip(t, f, at)
		peak := peakHeap(func() {
			if s, err = Open(dir, Options{}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Open(t.Context(), "in"); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("byte %d: %v", at, err)
			}
		})
		flip(t, f, at)
		live := peakHeap(func() {
			if k, err = s.Open(t.Context(), "in"); err != nil {
				t.Fatal(err)
			}
			flip(t, f, at)
			if err := k.Check(t.Context()); !errors.Is(err, keep.ErrDamaged) {
				t.Errorf("byte %d, open: %v", at, err)
			}
			flip(t, f, at)
		})
		s.Close()
		if peak > mostMemory || live > mostMemory {
			t.Errorf("byte %d: %d bytes at the start and %d by Check: at most %d are allowed", at, peak, live, mostMemory)
		}
		t.Logf("byte %d: %d and %d MB", at, peak>>20, live>>20)
	}
}

// mostIndexed is what a million rows with keys of 16 bytes may take in memory.
const mostIndexed = 110_000_000

// An index of a million rows takes at most 110 MB, also where each row is a group of its own; one of whole places
// takes more. Each place comes back as it was.
func TestAMillionRowsTakeAtMost110MB(t *testing.T) {
	if testing.Short() {
		t.Skip("a few seconds of processor time")
	}
	const rows = 1_000_000
	held := func(build func()) uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		build()
		runtime.GC()
		runtime.ReadMemStats(&after)
		return after.HeapAlloc - before.HeapAlloc
	}
	for _, group := range []int{1, 64} {
		x := &index{}
		placeOf := func(i int) place {
			back := uint32(groupHead + i%group*86)
			return place{titleLine + int64(i/group)<<13 + int64(back), 86, back, uint32(i % group), i%3 > 0, uint32(i % 5)}
		}
		took := held(func() {
			for i := range rows {
				o := op{t: 1, key: numbered(i), tag: uint32(i % 5), kind: put}
				if i%3 > 0 {
					o.kind = inserted
				}
				x.apply(o, placeOf(i))
			}
		})
		if took > mostIndexed {
			t.Errorf("groups of %d: %d bytes", group, took)
		}
		for i := range rows {
			if p, there := x.find(1, numbered(i)); !there || p != placeOf(i) {
				t.Fatalf("row %d lies at %v, and %v is found", i, placeOf(i), p)
			}
		}
		t.Logf("groups of %d: %d bytes", group, took)
	}
	var whole map[string]place
	took := held(func() {
		whole = map[string]place{}
		for i := range rows {
			whole[numbered(i)] = place{at: int64(i)}
		}
	})
	if took <= mostIndexed {
		t.Errorf("%d whole places take %d bytes: the bar tells nothing", len(whole), took)
	}
}

func flip(t *testing.T, f *os.File, at int64) {
	t.Helper()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// peakHeap returns by how much the memory that the runtime holds for objects has grown at most
// while do runs, what is not collected yet included, from a heap that was given back before.
func peakHeap(do func()) (most uint64) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as people run it
	debug.FreeOSMemory()
	held := func() uint64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		metrics.Read(s)
		return s[0].Value.Uint64() + s[1].Value.Uint64()
	}
	before, done, ended := held(), make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			most = max(most, held())
			select {
			case <-done:
				ended <- most
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	do()
	close(done)
	return max(<-ended, before) - before
}
