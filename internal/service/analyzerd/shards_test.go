package analyzerd_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/analyzer/parts"
	"github.com/confetti-dp/confetti/internal/analyzer/shards"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

const (
	shardBytes = 100 // at least: five to seven shards of a batch
	shardLease = 300 * time.Millisecond
)

// sharing is a service that counts in shards.
func sharing(t testing.TB, dsn string, c *collection) *rig {
	r := start(t, dsn, c)
	r.blobs = t.TempDir()
	r.restart()
	return r
}

// left are the blobs that a service has not deleted.
func (r *rig) left() (names []string) {
	filepath.WalkDir(r.blobs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return nil
	})
	return names
}

// released is the release of a plan, all of whose batches were counted.
func (r *rig) released(c *collection) string {
	r.t.Helper()
	r.at(closes.Add(time.Hour))
	if err := r.service.Step(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	w := r.get("/v1/releases/" + c.name + ".json")
	r.wants(w, ok, "")
	return w.Body.String()
}

// inMemory is the release that comes out of one process without shards.
func inMemory(t testing.TB, c *collection) string {
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	for _, h := range c.handovers {
		r.wants(r.put(h), created, "")
	}
	return r.released(c)
}

// A process that dies at any step of a batch in shards counts nothing twice and loses
// nothing, and the release is that of one process, byte for byte.
func TestACrashInShards(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	for kind, fresh := range databases {
		for _, point := range append(slices.Clone(shards.Failpoints), "batch-arrived", "batch-opened", "rows/count", "rows/count/committed") {
			t.Run(kind+"/"+point, func(t *testing.T) {
				r := sharing(t, fresh(t), c)
				r.wants(r.register(c), created, "")
				crashed := 0
				for i, h := range c.handovers {
					if i == 1 {
						r.fail(point, errCrash)
					}
					for try := 0; ; try++ {
						w := r.put(h)
						if w.Code < 300 {
							break
						}
						if try == 3 {
							t.Fatal("not done after a crash")
						}
						if w.Code == 503 { // the batch is the dead process's for a while
							time.Sleep(shardLease)
							continue
						}
						crashed++
						r.fail("", nil)
						r.restart()
					}
					r.wants(r.put(h), ok, "") // it was counted
				}
				if crashed != 1 {
					t.Errorf("%d crashes", crashed)
				}
				r.countedOnce(c, 4)
				if got := r.released(c); got != want {
					t.Error("another release came out than of one process without shards")
				}
			})
		}
	}
}

// A plan that is withdrawn while a batch of it is counted keeps nothing of that batch, neither
// what workers have counted nor what they were to count.
func TestAWithdrawalOfShards(t *testing.T) {
	c := collect(t, nil)
	for kind, fresh := range databases {
		t.Run(kind, func(t *testing.T) {
			r := sharing(t, fresh(t), c)
			r.wants(r.register(c), created, "")
			r.fail("shards-added", errCrash)
			if w := r.put(c.handovers[0]); w.Code < 300 {
				t.Fatalf("%d: nothing failed", w.Code)
			}
			b := rows.Batch{Plan: c.name, SHA256: c.handovers[0].Digest}
			if sh, err := r.store.Shared(t.Context(), b); err != nil || sh.Counted == 0 || sh.Counted != sh.All || len(r.left()) == 0 {
				t.Fatalf("%+v is counted, %d blobs, %v", sh, len(r.left()), err)
			}
			r.fail("", nil)
			w, err := plan.Withdraw(plan.Withdrawal{Plan: c.signed.Plan.Hash(), At: closes, Reason: "the question was misleading"}, publisher)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.service.Withdraw(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if sh, err := r.store.Shared(t.Context(), b); err != nil || sh.All != 0 || len(r.left()) > 0 {
				t.Errorf("%+v stays counted, %d blobs, %v", sh, len(r.left()), err)
			}
		})
	}
}

// Copies of an envelope that lie far apart in a batch fall into one shard, and fall.
func TestCopiesInShards(t *testing.T) {
	c := collect(t, nil)
	h := c.handovers[0]
	h.Batch.Envelopes = slices.Clone(h.Batch.Envelopes)
	n := len(h.Batch.Envelopes)
	h.Batch.Envelopes[n-1], h.Batch.Envelopes[n-2] = h.Batch.Envelopes[0], h.Batch.Envelopes[1]
	h = c.resign(t, h)
	memory := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	sharded := sharing(t, filepath.Join(t.TempDir(), "b.db"), c)
	var marks [2]rows.Batch
	for i, r := range []*rig{memory, sharded} {
		r.wants(r.register(c), created, "")
		r.wants(r.put(h), created, "")
		all, err := r.store.Batches(t.Context(), c.name)
		if err != nil || len(all) != 1 || all[0].Dropped != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		all[0].Counted = time.Time{}
		marks[i] = all[0]
	}
	if fmt.Sprint(marks[0]) != fmt.Sprint(marks[1]) {
		t.Errorf("in shards %+v", marks[1])
	}
	if left := sharded.left(); len(left) > 0 {
		t.Errorf("%d blobs are left", len(left))
	}
}

// What is refused in memory is refused in shards, and leaves nothing; what the store has
// lost is sent again.
func TestShardsAreRefusedAndLost(t *testing.T) {
	c := collect(t, nil)
	r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	h := c.handovers[0]
	few := h
	few.Batch.Envelopes = few.Batch.Envelopes[:8]
	r.wants(r.put(c.resign(t, few)), 422, wire.BatchRefused)
	for name, change := range map[string]func([]byte) []byte{
		"an envelope less": func(b []byte) []byte { return b[:len(b)-56] },
		"a byte more":      func(b []byte) []byte { return append(b, 0) },
		"another bit":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
	} {
		if w := r.do("PUT", path(h), wire.BatchType, change(body(t, h))); w.Code < 400 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	r.hook("batch-dealt", func() error {
		left := r.left()
		if len(left) < 3 {
			t.Errorf("%d blobs", len(left))
		}
		return os.Remove(left[0])
	})
	if w := r.put(h); w.Code < 500 {
		t.Errorf("without a shard: %d", w.Code)
	}
	r.hook("batch-dealt", func() error {
		left := r.left()
		return os.WriteFile(left[0], []byte("something else"), 0o600)
	})
	if w := r.put(h); w.Code < 500 {
		t.Errorf("with a damaged shard: %d", w.Code)
	}
	r.fail("", nil)
	r.wants(r.put(h), created, "")
	if left := r.left(); len(left) > 0 {
		t.Errorf("%d blobs are left", len(left))
	}
	// A batch that was never finished is forgotten when its plan closes.
	r.fail("shard-counted", errCrash)
	if w := r.put(c.handovers[1]); w.Code < 500 {
		t.Errorf("%d", w.Code)
	}
	r.fail("", nil)
	r.at(closes.Add(2 * time.Hour))
	r.restart()
	for range 2 {
		if err := r.service.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.at(r.now().Add(time.Hour))
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("%d blobs are left of a plan that is over", len(left))
	}
}

// A batch whose shards cannot be counted, for the key of its plan is away, keeps no other from
// being counted.
func TestABatchThatCannotBeCountedStopsNoOther(t *testing.T) {
	cs := []*collection{collect(t, nil), collect(t, nil)}
	bad, good := 0, 1
	if cs[1].name < cs[0].name { // shards are leased in the order of their plans
		bad, good = 1, 0
	}
	r := start(t, filepath.Join(t.TempDir(), "shelves"), cs...)
	r.blobs = t.TempDir()
	r.restart()
	for _, c := range cs {
		r.wants(r.register(c), created, "")
	}
	r.fail("shard-counted", errCrash)
	if w := r.put(cs[bad].handovers[0]); w.Code < 500 {
		t.Fatalf("%d: nothing failed", w.Code)
	}
	r.fail("", nil)
	key := filepath.Join(r.keys, fmt.Sprintf("%d.json", bad))
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	r.restart()
	time.Sleep(shardLease) // what was leased last is anybody's
	for _, h := range cs[good].handovers {
		r.wants(r.put(h), created, "")
	}
	b := rows.Batch{Plan: cs[bad].name, SHA256: cs[bad].handovers[0].Digest}
	if sh, err := r.store.Shared(t.Context(), b); err != nil || sh.Counted == 0 || sh.Counted == sh.All {
		t.Fatalf("of the other %+v is counted, %v", sh, err)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.wants(r.put(cs[bad].handovers[0]), created, "")
}

// The status says how much lies in parts.
func TestTheStatusCountsParts(t *testing.T) {
	c := collect(t, nil)
	r := sharing(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.wants(r.register(c), created, "")
	r.fail("batch-dealt", errCrash)
	if w := r.put(c.handovers[0]); w.Code < 500 {
		t.Fatalf("%d: nothing failed", w.Code)
	}
	want := int64(0)
	for _, path := range r.left() {
		is, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		want += is.Size()
	}
	for _, fact := range r.service.Status(t.Context()).Facts {
		if fact.Name == "in parts" {
			if fact.Data != want || want == 0 {
				t.Errorf("%v bytes lie in parts, and the status says %v", want, fact.Data)
			}
			return
		}
	}
	t.Error("the status does not say what lies in parts")
}

// Where others count, the service waits until tables of all shards lie beside them, and the
// release is that of one process. Tables that are damaged, of another batch or of shards that
// are there already are left out; whoever deletes the parts has the batch sent again.
func TestTablesFromElsewhere(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	r := start(t, filepath.Join(t.TempDir(), "shelves"), c)
	r.blobs, r.elsewhere = t.TempDir(), true
	r.restart()
	r.wants(r.register(c), created, "")
	p, err := protocol.New(c.signed.Plan)
	if err != nil {
		t.Fatal(err)
	}
	counter, err := analyzer.NewCounter(p, c.analyzer)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := blob.OpenFolder(r.blobs)
	if err != nil {
		t.Fatal(err)
	}
	const workers = 3
	var foreign []byte // a table of the batch before
	for i, h := range c.handovers {
		dealt := make(chan struct{}, 1)
		r.hook("batch-dealt", func() error { dealt <- struct{}{}; return nil })
		answered := make(chan *httptest.ResponseRecorder)
		go func() { answered <- r.put(h) }()
		<-dealt
		if i == 1 { // lost before anybody has counted
			if err := os.RemoveAll(filepath.Join(r.blobs, c.name)); err != nil {
				t.Fatal(err)
			}
			if w := <-answered; w.Code < 500 {
				t.Fatalf("without parts: %d", w.Code)
			}
			go func() { answered <- r.put(h) }()
			<-dealt
		}
		names, err := blobs.List(t.Context(), c.name)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		under := filepath.ToSlash(filepath.Dir(filepath.Dir(names[0])))
		leave := func(name string, body []byte) {
			if err := blobs.Put(t.Context(), under+"/tables/"+name, body); err != nil {
				t.Fatal(err)
			}
		}
		leave("0-damaged", []byte("confetti table 1\nand so on"))
		leave("0-foreign", foreign)
		for worker := range workers {
			table, err := parts.Share(t.Context(), counter, blobs, names, worker, workers, func(int, int) {})
			if err != nil {
				t.Fatal(err)
			}
			body, err := table.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			select {
			case w := <-answered:
				t.Fatalf("answered with %d of %d tables: %d", worker, workers, w.Code)
			case <-time.After(250 * time.Millisecond):
			}
			leave(fmt.Sprint(worker), body)
			if worker < workers-1 {
				leave(fmt.Sprint(worker)+"-again", body)
			}
			foreign = body
		}
		r.wants(<-answered, created, "")
		r.wants(r.put(h), ok, "")
	}
	r.countedOnce(c, 4)
	if got := r.released(c); got != want {
		t.Error("another release came out than of one process")
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("%d blobs are left", len(left))
	}
}

// What a process of this test is told that is a worker.
const (
	workerDSN  = "CONFETTI_TEST_WORKER_DSN"
	workerKeys = "CONFETTI_TEST_WORKER_KEYS"
	workerDir  = "CONFETTI_TEST_WORKER_BLOBS"
)

// slow is a store that takes its time to read, so that a kill hits a shard.
type slow struct{ blob.Store }

func (s slow) Get(ctx context.Context, name string) ([]byte, error) {
	time.Sleep(30 * time.Millisecond)
	return s.Store.Get(ctx, name)
}

// workerProcess counts shards until it is killed.
func workerProcess() int {
	ctx := context.Background()
	s, err := rows.Open(ctx, rows.Config{DSN: os.Getenv(workerDSN), Ledger: filepath.Join(os.Getenv(workerKeys), fmt.Sprint("ledger", os.Getpid()))})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	blobs, err := blob.OpenFolder(os.Getenv(workerDir))
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	w, err := analyzerd.New(analyzerd.Options{
		Common: serve.Common{Keys: os.Getenv(workerKeys)}, Store: s, Operators: &serve.Bearers{}, Blobs: slow{blobs}, ShardBytes: shardBytes, ShardLease: shardLease,
		Publishers:  []analyzerd.Publisher{{Name: "Research", Key: "none", Population: "residents"}},
		Populations: map[string]analyzerd.Population{"residents": {Epsilon: 1, Delta: 1e-3, Adjacency: "replacement"}},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	w.Work(ctx)
	return 0
}

// Two workers share the count with the service, and are killed (-9) again and again: the
// release is that of one process, byte for byte.
func TestKilledWorkersShareTheCount(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	t.Run("postgres", func(t *testing.T) { // a folder is one process's
		dsn := databases["postgres"](t)
		r := sharing(t, dsn, c)
		r.wants(r.register(c), created, "")
		process := func() *exec.Cmd {
			p := exec.Command(os.Args[0])
			p.Env = append(os.Environ(), workerDSN+"="+dsn, workerKeys+"="+r.keys, workerDir+"="+r.blobs)
			p.Stderr = os.Stderr
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			return p
		}
		ended := make(chan struct{})
		killed := make(chan int, 2)
		var workers sync.WaitGroup
		for i := range 2 {
			first := process()
			workers.Go(func() {
				n := 0
				for p := first; ; p = process() {
					select {
					case <-ended:
					case <-time.After(time.Duration(700+400*i) * time.Millisecond):
					}
					p.Process.Kill()
					p.Wait()
					select {
					case <-ended:
						killed <- n
						return
					default:
						n++
					}
				}
			})
		}
		time.Sleep(time.Second)                                                                  // for one of them to be there
		r.hook("shard-counted", func() error { time.Sleep(100 * time.Millisecond); return nil }) // and have its share
		for _, h := range c.handovers {
			r.wants(r.put(h), created, "")
		}
		close(ended)
		workers.Wait()
		if n := <-killed + <-killed; n == 0 {
			t.Error("nobody was killed")
		}
		r.countedOnce(c, 4)
		if got := r.released(c); got != want {
			t.Error("another release came out than of one process")
		}
		if left := r.left(); len(left) > 0 {
			t.Errorf("%d blobs are left", len(left))
		}
	})
}

func TestAnalyzerWorkerConfiguration(t *testing.T) {
	if _, err := (analyzerd.Worker{}).Open(slog.New(slog.DiscardHandler)); err == nil {
		t.Error("a worker without a folder")
	}
	var c analyzerd.Config
	c.Count.Elsewhere = true
	if _, err := c.Open(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "count.elsewhere: others count what lies in a folder or a bucket") {
		t.Error(err)
	}
	c.Count.Folder = serve.Path(t.TempDir())
	c.Count.Elsewhere, c.Database = false, serve.Path(t.TempDir())
	if _, err := (analyzerd.Worker{Config: c}).Open(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "a folder is one process's") {
		t.Error(err)
	}
	c.Count.Elsewhere, c.Database = true, ""
	if _, err := (analyzerd.Worker{Config: c}).Open(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "counted by confetti count, and not by workers") {
		t.Error(err)
	}
}
