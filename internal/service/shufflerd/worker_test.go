package shufflerd

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/queue"
	"github.com/confetti-dp/confetti/internal/storage/queue/queuetest"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// What a process of this test is told that is a worker: the world's folder, the server and
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
	q, err := queue.Open(ctx, queue.Config{URL: os.Getenv(workerURL)})
	if err != nil {
		return fail(err)
	}
	blobs, err := blob.OpenFolder(filepath.Join(os.Getenv(workerDir), "blobs0"))
	if err != nil {
		return fail(err)
	}
	wait, err := time.ParseDuration(os.Getenv(workerSlow))
	if err != nil {
		return fail(err)
	}
	work, err := NewWorker(ctx, Options{Common: serve.Common{Keys: filepath.Join(os.Getenv(workerDir), "keys0")}, Queue: q, Blobs: slow{blobs, wait}, StepLease: testLease})
	if err != nil {
		return fail(err)
	}
	work(ctx)
	return 0
}

// process is a worker that can be killed.
func (w *world) process(wait time.Duration) *exec.Cmd {
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
	w.url, w.partBytes = queuetest.Server(t), 300
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
		first, seed := w.process(50*time.Millisecond), r.Uint64()
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
					c = w.process(50 * time.Millisecond)
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
	h, err := relay.ParseHandover(w.batches[0])
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
	w.url, w.partBytes = queuetest.Server(t), 300
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
	if err := w.step(); err != nil {
		t.Fatal(err)
	}
	w.settled(0)
}

// A worker needs what it shares, and says so before it starts.
func TestWorkerConfiguration(t *testing.T) {
	for _, c := range []Config{{}, func() (c Config) { c.Queue.URL = "nats://127.0.0.1:4222"; return c }(), func() (c Config) { c.Queue.Folder, c.Mix.Folder = "queue", "parts"; return c }()} {
		opened, err := (Worker{c}).Open(slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "set queue.url and mix.folder") {
			t.Errorf("%v", err)
		}
		if opened.Run != nil {
			t.Error("it could be run")
		}
	}
}
