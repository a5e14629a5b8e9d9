package aggregated

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/x25519"
	"github.com/confetti-dp/confetti/plan"
)

// benchWhole has BenchmarkWorkers and BenchmarkBodies take as many reports as docs/performance-services.md measures.
var benchWhole = flag.Bool("bench.whole", false, "benchmarks on PostgreSQL take 3,456 and 2,048 reports, and not an eighth of them")

// What a leader spends of the processor on a report of 1,024 cells.
//
//	vdaf     its part of the verification by Prio3, of a share that lies open
//	bare     decoding what is kept of a report, opening its share by crypto/hpke alone, and vdaf
//	prepare  the same as a service does it: shares are opened in lanes, where there are some
//	accept   taking a report: from the bytes of an HTTP request to those of the answer, between which
//	         it is kept as in a service, written, synced and committed before anybody in the commit is answered
//	whole    bare, prepare and accept in turn, of the same reports: of-bare is the rate at which a leader takes and
//	         verifies, as a part of that at which it would only prepare them barely
//
// In accept are net/http's server, all of package serve (limits, the credential), decoding, and the
// store with its syncs (where tests write: atomicfiletest); 64 connections send one request after another. The requests are made
// beforehand, and a connection is memory: TLS, the system's network and the sender are not in it.
// cpu-µs is processor time of the whole process, ns/op is by the clock.
func BenchmarkLeader(b *testing.B) {
	w := newWorld(b, func(p *plan.Plan) {
		p.Route.Sum.Circuit.Length, p.Route.Sum.Chunk = 1024, 69
	})
	const many = 128
	vector := make([]uint64, 1024)
	vector[7] = 1
	reports, bodies := make([]dap.Report, many), make([][]byte, many)
	var err error
	for i := range reports {
		if reports[i], err = w.task().Report(w.random, vector, w.time(), nil); err != nil {
			b.Fatal(err)
		}
		bodies[i] = reports[i].Append(nil)
	}
	c := found(w.nodes[dap.Leader].service, w.plan.Hash()).crowds[0]
	// spent runs do, which is told how many reports to take, and states the processor's time of each.
	spent := func(b *testing.B, do func(n int)) {
		n := (b.N + many - 1) / many * many
		b.ResetTimer()
		before := costlimit.Used(b)
		do(n)
		b.ReportMetric(float64(costlimit.Used(b)-before)/float64(n)/1e3, "cpu-µs/report")
		b.ReportMetric(float64(b.Elapsed())/float64(n), "ns/op")
	}
	prepare := func(b *testing.B, n int) {
		for range n / many {
			all := make([]dap.Report, many)
			for i, body := range bodies {
				one, err := dap.ParseUpload(body, 1)
				if err != nil {
					b.Fatal(err)
				}
				all[i] = one[0]
			}
			if job := c.leader.Begin(c.batch(), all); job.Refused > 0 {
				b.Fatal("refused")
			}
		}
	}
	// accepting returns what takes so many reports of a round.
	accepting := func(b *testing.B, n, round int) func() {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("bench%d-%d-%d", b.N, round, i)
		}
		path := filepath.Join(b.TempDir(), "bearers")
		tokens, err := serve.AddBearers(w.random, path, names...)
		if err != nil {
			b.Fatal(err)
		}
		known, err := serve.ReadBearers(path)
		if err != nil {
			b.Fatal(err)
		}
		found(w.nodes[dap.Leader].service, w.plan.Hash()).auth.Bearers = known
		requests := make(chan []byte, n)
		for i := range n {
			r := reports[i%many]
			copy(r.ID[:], fmt.Sprintf("%04x%04x%08x", b.N&0xffff, round, i)) // another name: it is kept, and would be refused later
			body := r.Append(nil)
			head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: leader.test\r\nContent-Type: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
				dap.ReportsPath(c.ID), dap.UploadType, tokens[i], len(body))
			requests <- append([]byte(head), body...)
		}
		close(requests)
		return func() {
			in := &senders{requests: requests}
			server := &http.Server{Handler: w.nodes[dap.Leader].server, ReadTimeout: time.Minute, WriteTimeout: time.Minute}
			server.Serve(in)
			if good := in.good.Load(); good != int64(n) {
				b.Errorf("%d of %d reports were taken", good, n)
			}
		}
	}
	b.Run("vdaf", func(b *testing.B) {
		public, leader, _, err := c.VDAF.Split(zeros{}, reports[0].ID, vector)
		if err != nil {
			b.Fatal(err)
		}
		spent(b, func(n int) {
			for range n {
				if _, _, err := c.VDAF.Start([prio3.KeySize]byte{}, prio3.Leader, reports[0].ID, public, leader); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("bare", func(b *testing.B) {
		b.Setenv(x25519.Switch, "standard")
		spent(b, func(n int) { prepare(b, n) })
	})
	b.Run("prepare", func(b *testing.B) { spent(b, func(n int) { prepare(b, n) }) })
	b.Run("accept", func(b *testing.B) {
		take := accepting(b, (b.N+many-1)/many*many, 0)
		spent(b, func(int) { take() })
	})
	b.Run("whole", func(b *testing.B) {
		const turn = 10 * many
		var bare, prepared, accepted time.Duration
		rounds := (b.N + turn - 1) / turn
		used := func(do func()) time.Duration {
			before := costlimit.Used(b)
			do()
			return costlimit.Used(b) - before
		}
		before := os.Getenv(x25519.Switch)
		for round := range rounds {
			take := accepting(b, turn, round)
			runtime.GC() // of what made the requests
			b.Setenv(x25519.Switch, "standard")
			bare += used(func() { prepare(b, turn) })
			b.Setenv(x25519.Switch, before)
			prepared += used(func() { prepare(b, turn) })
			accepted += used(take)
		}
		of := func(d time.Duration) float64 { return float64(d) / float64(rounds*turn) / 1e3 }
		b.ReportMetric(of(bare), "bare-µs")
		b.ReportMetric(of(prepared), "prepare-µs")
		b.ReportMetric(of(accepted), "accept-µs")
		b.ReportMetric(float64(bare)/float64(prepared+accepted), "of-bare")
		b.ReportMetric(0, "ns/op")
	})
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// senders is a listener of 64 connections, on which the requests come.
type senders struct {
	requests <-chan []byte
	accepted int
	running  sync.WaitGroup
	good     atomic.Int64 // answers that say 200
}

func (s *senders) Accept() (net.Conn, error) {
	if s.accepted++; s.accepted > 64 {
		s.running.Wait()
		return nil, net.ErrClosed
	}
	s.running.Add(1)
	return &sender{of: s, answered: make(chan struct{}, 1), awake: make(chan struct{}, 1)}, nil
}

func (s *senders) Close() error   { return nil }
func (s *senders) Addr() net.Addr { return &net.TCPAddr{} }

// sender is a connection in memory: its next request comes when the one before is answered.
type sender struct {
	of       *senders
	rest     []byte
	waiting  bool // for an answer
	answered chan struct{}
	awake    chan struct{} // a deadline that has passed ends a Read
	closing  sync.Once
}

func (s *sender) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.waiting {
			select {
			case <-s.answered:
				s.waiting = false
			case <-s.awake:
				return 0, os.ErrDeadlineExceeded
			}
		}
		next, more := <-s.of.requests
		if !more {
			return 0, io.EOF
		}
		s.rest, s.waiting = next, true
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *sender) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte("HTTP/1.1 200 ")) {
		s.of.good.Add(1)
	}
	s.answered <- struct{}{}
	return len(b), nil
}

func (s *sender) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		select {
		case s.awake <- struct{}{}:
		default:
		}
	} else {
		select {
		case <-s.awake:
		default:
		}
	}
	return nil
}

func (s *sender) Close() error                     { s.closing.Do(s.of.running.Done); return nil }
func (s *sender) SetDeadline(t time.Time) error    { return s.SetReadDeadline(t) }
func (s *sender) SetWriteDeadline(time.Time) error { return nil }
func (s *sender) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s *sender) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
