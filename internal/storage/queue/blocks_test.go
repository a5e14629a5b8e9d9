package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// recordsOf are where the records of a block begin.
func recordsOf(t testing.TB, block []byte) (starts []int) {
	t.Helper()
	for at := 0; at < len(block); at += int(binary.LittleEndian.Uint32(block[at:]) &^ withHeaders) {
		starts = append(starts, at)
	}
	return starts
}

// blockOf is the only block of a stream in a queue's folder.
func blockOf(t testing.TB, dir, stream string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(streamsOf(dir), stream, "msgs", "*.blk"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	return paths[0]
}

// blocked is a folder with a box of five messages and records of which one was
// changed and one deleted, so that their numbers have gaps.
func blocked(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	q := open(t, dir)
	b, ctx := box(t, q, "b"), t.Context()
	for i := range 5 {
		if _, err := b.Put(ctx, fmt.Sprint(i), "x", bytes.Repeat([]byte{byte(i)}, 300)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := q.Records(ctx, "state")
	if err != nil {
		t.Fatal(err)
	}
	var revision uint64
	for _, key := range []string{"a", "b", "c", "d"} {
		if revision, err = r.Set(ctx, key, []byte("some state"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Set(ctx, "d", []byte("another state"), revision); err != nil {
		t.Fatal(err)
	}
	if err := r.Delete(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	q.Close()
	return dir
}

// readAll opens a folder as a service does and reads all that is in it.
func readAll(t testing.TB, dir string, d Damage) error {
	q, err := Open(t.Context(), Config{Dir: dir, Damage: d})
	if err != nil {
		return err
	}
	defer q.Close()
	r, err := q.Records(t.Context(), "state")
	if err != nil {
		return err
	}
	if err := r.Each(t.Context(), "", func(string, []byte, uint64) error { return nil }); err != nil {
		return err
	}
	b, err := q.Box(t.Context(), "b", d)
	if err != nil {
		return err
	}
	for i := range 5 {
		if body, err := b.Get(t.Context(), fmt.Sprint(i), "x"); err != nil || !bytes.Equal(body, bytes.Repeat([]byte{byte(i)}, 300)) {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// One bit of a record's number, in a message of a batch, took 24 GB when the server
// was started. Whatever bit of a record's head changes, the queue takes little memory,
// and says that it is damaged.
func TestABitOfARecordsHead(t *testing.T) {
	whole := blocked(t)
	bits := []int{
		0, 12, 24, 31, // of the length
		32, 33, 32 + 17, 32 + 18, 32 + 23, 32 + 31, 32 + 33, 32 + 45, 32 + 61, 32 + 62, 32 + 63, // of the number
		96, 96 + 63, // of the time
		160, 160 + 15, // of the subject's length
	}
	const most = 128 << 20 // bytes, of all together
	for stream, records := range map[string][]int{boxStream("b"): {0, 2, 4}, prefix + "-records-state": {0, 2}} {
		for _, record := range records {
			t.Run(fmt.Sprintf("record %d of %s", record, stream), func(t *testing.T) {
				n := costlimit.Allocated(func() {
					var wg sync.WaitGroup
					for _, bit := range bits {
						dir := t.TempDir()
						if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
							t.Fatal(err)
						}
						flip(t, blockOf(t, dir, stream), record, bit)
						wg.Go(func() {
							if err := readAll(t, dir, Refuse); !errors.Is(err, ErrDamaged) {
								t.Errorf("bit %d: %v", bit, err)
							}
						})
					}
					wg.Wait()
				})
				if n > most {
					t.Errorf("%d bytes were allocated", n)
				}
			})
		}
	}
	if err := readAll(t, whole, Refuse); err != nil {
		t.Error(err)
	}
}

// flip changes one bit of a record.
func flip(t testing.TB, path string, record, bit int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[recordsOf(t, text)[record]+bit/8] ^= 1 << (bit % 8)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(text, 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

const farAhead = 32 + 33 // a bit of the number

// What is set aside of a box is the damaged record and what is behind it in the same
// block; after that it opens as before.
func TestABlockIsSetAside(t *testing.T) {
	dir := blocked(t)
	path := blockOf(t, dir, boxStream("b"))
	flip(t, path, 2, farAhead)
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Fatalf("it does not name the block: %v", err)
	}
	for _, d := range []Damage{SetAside, Refuse} {
		q, err := Open(t.Context(), Config{Dir: dir, Damage: d})
		if err != nil {
			t.Fatal(err)
		}
		there, b := "", box(t, q, "b")
		for i := range 5 {
			if _, err := b.Get(t.Context(), fmt.Sprint(i), "x"); err == nil {
				there += fmt.Sprint(i)
			} else if !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		}
		if there != "01" {
			t.Errorf("%q are left", there)
		}
		q.Close()
	}
}

// Records are never set aside: a crowd could leave twice.
func TestRecordsAreNotSetAside(t *testing.T) {
	dir := blocked(t)
	flip(t, blockOf(t, dir, prefix+"-records-state"), 2, farAhead)
	if q, err := Open(t.Context(), Config{Dir: dir, Damage: SetAside}); !errors.Is(err, ErrDamaged) {
		q.Close()
		t.Errorf("it opened: %v", err)
	}
}

// rooms is how many numbers the server makes room for when it reads a block.
func rooms(block []byte) (most uint64) {
	var first, last uint64
	for at := 0; at+recordHead <= len(block); {
		length := int(binary.LittleEndian.Uint32(block[at:]) &^ withHeaders)
		if length < recordHead+recordHash || length > longest || at+length > len(block) {
			return most
		}
		number := binary.LittleEndian.Uint64(block[at+4:])
		at += length
		if number&deletes != 0 {
			continue
		}
		if number &^= deleted; number <= last {
			continue
		}
		if first == 0 {
			first = number
		}
		last = number
		most = max(most, last-first+1)
	}
	return most
}

func FuzzBlock(f *testing.F) {
	dir := blocked(f)
	for _, stream := range []string{boxStream("b"), prefix + "-records-state"} {
		text, err := os.ReadFile(blockOf(f, dir, stream))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		for _, bit := range []int{3, farAhead} {
			for _, at := range recordsOf(f, text) {
				bad := bytes.Clone(text)
				bad[at+bit/8] ^= 1 << (bit % 8)
				f.Add(bad)
			}
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		path := filepath.Join(t.TempDir(), "1.blk")
		if err := os.WriteFile(path, block, 0o600); err != nil {
			t.Fatal(err)
		}
		var bad *badRecord
		costlimit.Heap(t, costlimit.Factor, len(block), func() {
			var err error
			if bad, err = checkBlock(path); err != nil {
				t.Fatal(err)
			}
		})
		if bad != nil {
			block = block[:bad.at] // set aside
		}
		if n := rooms(block); n > mostNumbers {
			t.Errorf("the server makes room for %d numbers", n)
		}
	})
}
