package shufflerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep/postgres/postgrestest"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
)

// What a process of this test is told that is a worker: the world's folder, the database and
// how long it takes to write a blob.
const (
	workerDir  = "CONFETTI_TEST_WORKER_DIR"
	workerURL  = "CONFETTI_TEST_WORKER_URL"
	workerSlow = "CONFETTI_TEST_WORKER_SLOW"
)

// testLease is short, so that what a killed worker had is soon another's.
const testLease = time.Second

// slow is a store in which every write takes its time, so that a kill hits one.
type slow struct {
	blob.Store
	wait time.Duration
}

func (s slow) Put(ctx context.Context, name string, body []byte) error {
	time.Sleep(s.wait)
	return s.Store.Put(ctx, name, body)
}

// workerProcess takes steps until it is killed.
func workerProcess() int {
	ctx := context.Background()
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "worker:", err)
		return 1
	}
	w := &world{dir: os.Getenv(workerDir), url: os.Getenv(workerURL)}
	store, err := w.keep(0)
	if err != nil {
		return fail(err)
	}
	blobs, err := blob.OpenFolder(w.blobs(0))
	if err != nil {
		return fail(err)
	}
	wait, err := time.ParseDuration(os.Getenv(workerSlow))
	if err != nil {
		return fail(err)
	}
	work, err := NewWorker(ctx, Options{Common: serve.Common{Keys: filepath.Join(w.dir, "keys0")}, Store: store, Blobs: slow{blobs, wait}, StepLease: testLease})
	if err != nil {
		return fail(err)
	}
	work(ctx)
	return 0
}

// worker is a process that can be killed.
func (w *world) worker(wait time.Duration) *exec.Cmd {
	w.t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), workerDir+"="+w.dir, workerURL+"="+w.url, workerSlow+"="+wait.String())
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Three workers share a crowd, and each is killed again and again at any moment. What
// leaves is, byte for byte, what one process makes of the same parts and key.
func TestKilledWorkersShareACrowd(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.url, w.partBytes = postgrestest.Postgres(t), 300
	w.stop(0)
	w.fresh(0)
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	w.contribute(0, all...)

	alone := t.TempDir()
	var laid mixer.Crowd
	w.failpoint = func(_ int, name string) error {
		if name != "parts-marked" {
			return nil
		}
		laid = *found(w.hops[0].service, w.plan.Hash()).posts[0].state(0).Laid
		return os.CopyFS(alone, os.DirFS(w.blobs(0)))
	}
	r := stattest.Rand(t)
	ended, killed := make(chan struct{}), 0
	var workers sync.WaitGroup
	for range 3 {
		first, seed := w.worker(50*time.Millisecond), r.Uint64()
		workers.Go(func() {
			c, wait := first, time.Duration(300+seed%500)*time.Millisecond
			for {
				select {
				case <-ended:
					c.Process.Kill()
					c.Wait()
					return
				case <-time.After(wait):
					c.Process.Kill()
					c.Wait()
					w.mu.Lock()
					killed++
					w.mu.Unlock()
					c = w.worker(50 * time.Millisecond)
				}
			}
		})
	}
	time.Sleep(time.Second) // for some of them to be there
	w.end()
	err := w.step()
	close(ended)
	workers.Wait()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d workers were killed, %d parts, %d buckets", killed, laid.Parts(), laid.Buckets)
	if killed == 0 || laid.Parts() < 3 || laid.Buckets < 3 {
		t.Error("next to nothing was shared")
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(all...)})

	s, err := blob.OpenFolder(alone)
	if err != nil {
		t.Fatal(err)
	}
	hop, err := found(w.hops[0].service, w.plan.Hash()).posts[0].mixer()
	if err != nil {
		t.Fatal(err)
	}
	for {
		steps, err := laid.Steps(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) == 0 {
			break
		}
		if err := laid.Do(t.Context(), hop, s, steps[0]); err != nil {
			t.Fatal(err)
		}
	}
	var want bytes.Buffer
	if err := laid.Write(t.Context(), s, &want); err != nil {
		t.Fatal(err)
	}
	h, err := handover.ParseHandover(w.batches[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.Join(h.Batch.Envelopes, nil), want.Bytes()) {
		t.Error("another order left than one process gives")
	}
}

// metrics are what the first hop shows.
func (w *world) metrics() string {
	w.t.Helper()
	server, err := serve.New(serve.Config{Name: "shuffler", Metrics: w.hops[0].service.o.Metrics})
	if err != nil {
		w.t.Fatal(err)
	}
	out := httptest.NewRecorder()
	server.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return out.Body.String()
}

// A worker that wakes up after the end finds nothing to do, and what it wrote disturbs nobody.
func TestAWorkerWakesUpLate(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.url, w.partBytes = postgrestest.Postgres(t), 300
	w.stop(0)
	w.fresh(0)
	w.contribute(0, 0, 1, 2, 3, 4)
	var late []task
	w.failpoint = func(_ int, name string) error {
		if name == "parts-marked" {
			laid := found(w.hops[0].service, w.plan.Hash()).posts[0].state(0).Laid
			hash := w.plan.Hash()
			late = append(late, task{hash[:], 0, 0, 0, laid.Under, mixer.Step{}}, task{hash[:], 0, 0, 0, laid.Under + "x", mixer.Step{}}, task{hash[:], 0, 0, 1, laid.Under, mixer.Step{Gather: true}})
		}
		return nil
	}
	w.end()
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3, 4)})
	shown := w.metrics()
	for _, want := range []string{"confetti_mixing_steps_ready 0\n", "confetti_mixing_steps_leased 0\n", "confetti_mixing_steps_oldest_seconds 0\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("nothing is to be done, and what is shown lacks %q", want)
		}
	}
	if _, n, _ := strings.Cut(shown, "confetti_mixing_steps_duration_seconds_count "); n == "" || n[0] == '0' {
		t.Error("steps were taken, and none is shown")
	}
	if len(late) != 3 {
		t.Fatal("nothing was laid out")
	}
	for _, one := range late {
		if err := w.hops[0].service.worker.do(t.Context(), one); err != nil {
			t.Errorf("%+v: %v", one, err)
		}
	}
	w.settled(0)
	// What was written meanwhile is tidied away at the next start.
	if err := w.hops[0].service.o.Blobs.Put(t.Context(), late[0].Under+"/fragment/0/0", []byte("late")); err != nil {
		t.Fatal(err)
	}
	w.restart(0)
	w.leads(0)
	w.settled(0)
}

// leads steps until a hop's process leads, once nobody who did before says anything.
func (w *world) leads(hop int) {
	w.t.Helper()
	post := found(w.hops[hop].service, w.plan.Hash()).posts[0]
	for deadline := time.Now().Add(time.Minute); post.untidy || len(w.batches) == 0; time.Sleep(testLease / 10) {
		if err := w.hops[hop].service.Step(context.Background()); err != nil {
			w.t.Fatal(err)
		}
		if time.Now().After(deadline) {
			w.t.Fatal("it does not lead")
		}
	}
}

// Two processes of a hop take contributions on one database, each once from a respondent. Whoever
// of them leads mixes; when it is gone the other one does.
func TestTwoEntriesOnOneDatabase(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.url = postgrestest.Postgres(t)
	w.stop(0)
	w.fresh(0)
	one := w.hops[0]
	two, err := w.process(0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer two.store.Close()
	w.contribute(0, 0, 1)
	body := w.contribution(0, 2)
	w.hops[0] = two
	if status, code := w.do(0, w.request("device2", body)); status != http.StatusCreated {
		t.Errorf("%d %s", status, code)
	}
	if _, code := w.do(0, w.request("device0", body)); code != wire.AlreadyContributed {
		t.Errorf("who has contributed to the other process: %q", code)
	}
	w.contribute(0, 3)
	w.hops[0] = one
	if status, _ := w.do(0, w.request("device2", body)); status != http.StatusOK {
		t.Errorf("what the other one has taken: %d", status)
	}
	w.end()
	w.failpoint = func(_ int, name string) error {
		if name == "outbox-written" {
			return errCrash
		}
		return nil
	}
	if err := one.service.Step(t.Context()); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	w.failpoint = nil
	if err := two.service.Step(t.Context()); err != nil || len(w.batches) > 0 {
		t.Fatalf("%d batches left from who does not lead: %v", len(w.batches), err)
	}
	w.hops[0] = two
	if _, code := w.do(0, w.request("device4", w.contribution(0, 4))); code != wire.EpochOver {
		t.Errorf("after the end: %q", code)
	}
	one.store.Close()
	w.leads(0)
	wantCrowds(t, w, map[uint32][]string{0: sent(0, 1, 2, 3)})
	w.settled(0)
}

// Two processes that both lead, as where one was stopped for longer than its lease, let one order leave.
func TestTwoLeaders(t *testing.T) {
	w := newWorld(t, 1, nil)
	w.url = postgrestest.Postgres(t)
	w.stop(0)
	w.fresh(0)
	w.contribute(0, 0, 1, 2, 3)
	one := w.hops[0]
	two, err := w.process(0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer two.store.Close()
	w.end()
	ctx, late := t.Context(), found(two.service, w.plan.Hash()).posts[0]
	var first error
	w.failpoint = func(_ int, name string) error {
		if name == "outbox-written" { // it stands still here, and the other one overtakes
			w.failpoint = nil
			first = late.carryOn(ctx)
		}
		return nil
	}
	err = found(one.service, w.plan.Hash()).posts[0].carryOn(ctx)
	if first != nil || !errors.Is(err, rows.ErrChanged) {
		t.Errorf("the first: %v; the late one: %v", first, err)
	}
	left := w.read(0)
	for range 2 {
		if err := one.service.Step(ctx); err != nil {
			t.Error(err)
		}
	}
	if got := w.read(0); !slices.Equal(got, left) || !slices.Equal(got, sent(0, 1, 2, 3)) {
		t.Error("another batch has left, or somebody is missing")
	}
	w.settled(0)
}

// A worker needs what it shares, and says so before it starts.
func TestWorkerConfiguration(t *testing.T) {
	for _, c := range []Config{{}, func() (c Config) { c.Queue.URL = "postgres://127.0.0.1/hop"; return c }(), func() (c Config) { c.Queue.Folder, c.Mix.Folder = "queue", "parts"; return c }()} {
		opened, err := (Worker{c}).Open(slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "set queue.url and mix.folder") {
			t.Errorf("%v", err)
		}
		if opened.Run != nil {
			t.Error("it could be run")
		}
	}
}
