package aggregated

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// posted is what a process of BenchmarkWorkers is told.
type posted struct {
	Role      dap.Role
	Keys, DSN string
	Signer    string // who has signed the plan
	Now       time.Time
	Helpers   []string // where a leader's worker finds the helper's processes
}

// posting has a process be one of those, in the place of a test.
const posting = "CONFETTI_BENCH_POSTED"

func init() {
	text := os.Getenv(posting)
	if text == "" {
		return
	}
	var p posted
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.work()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// used is the processor's time of this process.
func used() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// work serves or adds up until its input ends, and tells what that took of the processor.
func (p posted) work() error {
	store, err := open(p.DSN)
	if err != nil {
		return err
	}
	defer store.Close()
	var next atomic.Int64
	client := &http.Client{Transport: turns{p.Helpers, &next, &http.Transport{}}}
	s, err := New(context.Background(), Options{
		Common: serve.Common{Keys: p.Keys, Client: client, Now: func() time.Time { return p.Now }},
		Role:   p.Role, Store: store, Publishers: serve.Trust(p.Signer), Pair: aggregator.NewPair([32]byte{1}), Lease: lease, Shard: benchShard,
	})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { io.Copy(io.Discard, os.Stdin); close(ended) }()
	if p.Role == dap.Helper {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		server, err := serve.New(serve.Config{Name: s.Role(), Routes: s.Routes(), Ready: s.Ready, Status: s.Status, Private: private, Visited: visited, Handed: handed})
		if err != nil {
			return err
		}
		fmt.Println(l.Addr())
		before := used()
		go (&http.Server{Handler: server}).Serve(l)
		<-ended
		fmt.Println(int64(used() - before))
		return nil
	}
	before := used()
	for {
		there, err := s.worker.once(context.Background(), 0)
		if err != nil {
			return err
		}
		if !there {
			break
		}
	}
	fmt.Println(int64(used() - before))
	return nil
}

// turns sends requests to one process of the helper after the other.
type turns struct {
	to   []string
	next *atomic.Int64
	by   http.RoundTripper
}

func (t turns) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", t.to[int(t.next.Add(1))%len(t.to)]
	return t.by.RoundTrip(r)
}

const benchShard = 128

// workersShards returns how many shards BenchmarkWorkers adds up.
func workersShards() int {
	if *benchWhole {
		return 27
	}
	return 3 // one a worker
}

// What a report of 1,024 cells takes of the processor until both aggregators have added it, by one process a side and by
// three, each a process of its own on PostgreSQL: workers of the leader's, and helpers. PostgreSQL's own time is not in it.
func BenchmarkWorkers(b *testing.B) {
	folder := database
	database = func(t testing.TB) string { return postgrestest.Postgres(t) }
	defer func() { database = folder }()
	w := newWorld(b, func(p *plan.Plan) { p.Route.Sum.Circuit.Length, p.Route.Sum.Chunk = 1024, 69 })
	vector := make([]uint64, 1024)
	vector[7] = 1
	reports := make([]dap.Report, workersShards()*benchShard)
	var err error
	for i := range reports {
		if reports[i], err = w.task().Report(w.random, vector, w.time(), nil); err != nil {
			b.Fatal(err)
		}
	}
	took := map[int]time.Duration{}
	for range b.N {
		for _, n := range []int{1, 3} {
			took[n] += w.by(b, n, reports)
		}
	}
	for n, d := range took {
		b.ReportMetric(float64(d)/float64(b.N*len(reports))/1e3, fmt.Sprintf("cpu-µs/report-by-%d", n))
	}
	b.ReportMetric(float64(took[3])/float64(took[1]), "three-to-one")
	b.ReportMetric(0, "ns/op")
}

// by has so many processes a side add reports up on new databases, and returns what all took of the processor.
func (w *world) by(b *testing.B, n int, reports []dap.Report) (total time.Duration) {
	b.Helper()
	for _, role := range []dap.Role{dap.Leader, dap.Helper} {
		w.kill(role)
		w.databases[role] = database(b)
		w.mu.Lock()
		w.now = w.plan.Times.Opens
		w.mu.Unlock()
		w.start(role)
		if err := w.nodes[role].service.Load(b.Context(), w.signed); err != nil {
			b.Fatal(err)
		}
	}
	var taking sync.WaitGroup // those who come together share a write
	for i, r := range reports {
		taking.Go(func() {
			one := rows.Report{Name: r.ID, Body: r.Append(nil)}
			copy(one.Respondent[:], fmt.Sprint(i))
			if err := w.kept(dap.Leader).Take(b.Context(), one); err != nil {
				b.Error(err)
			}
		})
	}
	taking.Wait()
	w.close()
	dealer := w.beside(dap.Leader, "")
	dealer.most, dealer.shard = benchShard, 1
	if err := dealer.Step(b.Context()); err != nil {
		b.Fatal(err)
	}
	tell := posted{Signer: w.signed.Signers()[0], Now: w.time()}
	type child struct {
		*exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	start := func(role dap.Role) child {
		tell.Role, tell.Keys, tell.DSN = role, w.keys(role), w.databases[role]
		text, err := json.Marshal(tell)
		if err != nil {
			b.Fatal(err)
		}
		c := exec.Command(os.Args[0])
		c.Env, c.Stderr = append(os.Environ(), posting+"="+string(text), "GOMAXPROCS=1"), os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		return child{c, in, bufio.NewReader(out)}
	}
	line := func(c child) string {
		text, err := c.out.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	var helpers, workers []child
	for range n {
		c := start(dap.Helper)
		helpers, tell.Helpers = append(helpers, c), append(tell.Helpers, line(c))
	}
	for range n {
		workers = append(workers, start(dap.Leader))
	}
	for _, c := range append(workers, helpers...) { // helpers serve until their input ends
		c.in.Close()
		var spent int64
		if _, err := fmt.Sscan(line(c), &spent); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(spent)
		if err := c.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	sum, err := dealer.sum(b.Context(), found(dealer.Service, w.plan.Hash()).crowds[0])
	if err != nil || sum.Reports != uint64(len(reports)) {
		b.Fatalf("%d reports were added: %v", sum.Reports, err)
	}
	return total
}
