package journal

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

// small is the length of a contribution of five envelopes.
const small = 808

// BenchmarkPut measures Inserts of small contributions by so many callers that each wait for
// theirs, and what the disk gives a plain log that syncs every 64 of them together. Compare
// within one run: a disk is not the same from one minute to the next.
func BenchmarkPut(b *testing.B) {
	b.Run("plain log, 64 together", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "log"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		together := make([]byte, 64*small)
		for i := 0; i < b.N; i += 64 {
			if _, err := f.Write(together); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
	})
	for _, o := range []struct {
		name string
		o    Options
	}{{"shelf", Options{}}, {"shelf with a prompt check", Options{Prompt: true}}} {
		for _, callers := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("%s/callers=%d", o.name, callers), func(b *testing.B) {
				s := benchShelf(b, b.TempDir(), o.o)
				ctx := context.Background()
				putAll(b, func(i int, body []byte) error {
					_, err := s.Insert(ctx, keep.Row{Table: 1, Key: numbered(i), Tag: 0, Value: body})
					return err
				}, callers)
			})
		}
	}
}

// numbered returns a key of 16 bytes.
func numbered(i int) string {
	var key [16]byte
	binary.BigEndian.PutUint64(key[:], uint64(i)*0x9e3779b97f4a7c15)
	return string(key[:])
}

func benchShelf(tb testing.TB, path string, o Options) keep.Shelf {
	tb.Helper()
	if err := Create(path); err != nil {
		tb.Fatal(err)
	}
	store, err := Open(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	s, err := store.Create(context.Background(), "in")
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func putAll(b *testing.B, put func(int, []byte) error, callers int) {
	waits := make([]time.Duration, b.N)
	b.ResetTimer()
	atOnce(b.N, callers, func(i int) {
		body := make([]byte, small)
		binary.BigEndian.PutUint64(body, uint64(i))
		start := time.Now()
		if err := put(i, body); err != nil {
			b.Error(err)
		}
		waits[i] = time.Since(start)
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)*99/100])/1e6, "p99-ms")
}

// atOnce calls fn for 0 to n-1 from so many callers.
func atOnce(n, callers int, fn func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	all.Wait()
}

// BenchmarkOpen measures how fast a start reads and checks what is on a shelf, and what it
// holds in memory for each row: 16 bytes of key and 32 of value, or a contribution.
func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct{ rows, size int }{{2_000, 32}, {1_000_000, 32}, {100_000, small}, {5_000, 80_000}} {
		b.Run(fmt.Sprintf("rows=%d/bytes=%d", c.rows, c.size), func(b *testing.B) {
			dir := b.TempDir()
			if err := Create(dir); err != nil {
				b.Fatal(err)
			}
			store, err := Open(dir, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := store.Create(context.Background(), "in")
			if err != nil {
				b.Fatal(err)
			}
			const call = 100
			value := make([]byte, c.size)
			for i := 0; i < c.rows; i += call {
				rows := make([]keep.Row, call)
				for j := range rows {
					rows[j] = keep.Row{Table: 1, Key: numbered(i + j), Value: value}
				}
				if _, err := s.Insert(context.Background(), rows...); err != nil {
					b.Fatal(err)
				}
			}
			if err := store.Close(); err != nil {
				b.Fatal(err)
			}
			s, store = nil, nil
			var before, after runtime.MemStats
			var processor time.Duration
			for b.Loop() {
				b.StopTimer()
				runtime.GC()
				runtime.ReadMemStats(&before)
				used := costlimit.Used(b)
				b.StartTimer()
				again, err := openShelf(context.Background(), folder(dir), "in", Options{leastDead: leastDead, mostMoved: mostMoved}, false)
				if err != nil || again.index.size() != c.rows {
					b.Fatal(err)
				}
				b.StopTimer()
				processor += costlimit.Used(b) - used
				runtime.GC()
				runtime.ReadMemStats(&after)
				again.close(errClosed)
				b.StartTimer()
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(c.rows)/seconds, "rows/s")
			b.ReportMetric(float64(c.rows)*float64(c.size)/seconds/1e6, "MB/s")
			b.ReportMetric(processor.Seconds()/float64(b.N), "processor-s")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(c.rows), "held-bytes/row")
		})
	}
}
