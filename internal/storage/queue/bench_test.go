package queue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/hashchain"
)

// putters are ways to keep small bodies, each durable when it returns.
var putters = []struct {
	name string
	open func(b *testing.B) func(i int, body []byte) error
}{
	{"box", func(b *testing.B) func(int, []byte) error { // one message each
		in := box(b, open(b, b.TempDir()), "in")
		return func(i int, body []byte) error {
			_, err := in.Put(context.Background(), fmt.Sprintf("%064d", i), "0", body)
			return err
		}
	}},
	{"inbox", func(b *testing.B) func(int, []byte) error {
		in := inbox(b, open(b, b.TempDir()), "in")
		return func(i int, body []byte) error {
			_, err := in.Put(numbered(i), 0, sha256.Sum256(body), body)
			return err
		}
	}},
}

// small is the length of a contribution of five envelopes.
const small = 808

// BenchmarkPut measures small contributions by so many callers that each wait for
// theirs, and what the disk gives a plain log that syncs every 64 of them together.
// Compare within one run: a disk is not the same from one minute to the next.
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
	for _, callers := range []int{1, 16, 64, 256} {
		for _, p := range putters {
			b.Run(fmt.Sprintf("%s/callers=%d", p.name, callers), func(b *testing.B) {
				putAll(b, p.open(b), callers, small)
			})
		}
	}
}

// BenchmarkPutLong measures contributions of more envelopes, each of which adds 152 bytes.
func BenchmarkPutLong(b *testing.B) {
	for _, envelopes := range []int{5, 64, 256, 768} {
		b.Run(fmt.Sprintf("envelopes=%d", envelopes), func(b *testing.B) {
			putAll(b, putters[1].open(b), 64, 48+152*envelopes)
		})
	}
}

func putAll(b *testing.B, put func(int, []byte) error, callers, size int) {
	waits := make([]time.Duration, b.N)
	b.ResetTimer()
	atOnce(b.N, callers, func(i int) {
		body := make([]byte, size)
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

// BenchmarkOpen measures how fast a start reads who is in an inbox.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	q := open(b, dir)
	in := inbox(b, q, "in")
	const n = 100_000
	atOnce(n, 256, func(i int) {
		body := make([]byte, 808)
		binary.BigEndian.PutUint64(body, uint64(i))
		if _, err := in.Put(numbered(i), 0, sha256.Sum256(body), body); err != nil {
			b.Error(err)
		}
	})
	in.close()
	for b.Loop() {
		again := &Inbox{q: q, name: "in", most: in.most, counts: map[uint32]int{}, marks: map[[16]byte]mark{}, closed: true}
		if err := q.openLog(again, true, hashchain.Walk{}); err != nil || again.counts[0] != n {
			b.Fatal(err)
		}
		again.groups.Close()
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "contents/s")
}

// BenchmarkBatch measures the large messages that batches are kept in.
func BenchmarkBatch(b *testing.B) {
	in := box(b, open(b, b.TempDir()), "in")
	body := make([]byte, ChunkBody)
	b.SetBytes(int64(len(body)))
	next := 0
	for b.Loop() {
		next++
		if _, err := in.Put(context.Background(), fmt.Sprint(next), "0", body); err != nil {
			b.Fatal(err)
		}
	}
}
