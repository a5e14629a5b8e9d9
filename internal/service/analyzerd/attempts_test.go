package analyzerd_test

import (
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
)

// pair is two services on one database and one store of shards. A folder is one process's, which
// both are in. What one deals is its own for as long as a lease.
func pair(t *testing.T, dsn string, c *collection, lease time.Duration) (first, second *rig) {
	first = start(t, dsn, c)
	first.blobs, first.lease = t.TempDir(), lease
	first.restart()
	first.wants(first.register(c), created, "")
	var shared *rows.Store
	if !strings.HasPrefix(dsn, "postgres://") {
		shared = first.store
	}
	second = startOn(t, dsn, shared, c)
	second.blobs, second.lease = first.blobs, lease
	second.restart()
	return first, second
}

// later waits and refuses an answer that says nothing of when to come again.
func later(t *testing.T, r *rig, w *httptest.ResponseRecorder) {
	t.Helper()
	if r.wants(w, 503, wire.Overloaded); w.Header().Get("Retry-After") == "" {
		t.Error("nobody is told when to come again")
	}
}

// halfway is a request whose body has come to its half; the rest comes with goOn.
type halfway struct {
	answered chan *httptest.ResponseRecorder
	read     chan struct{} // the first half was, and something was done with it
	goOn     func()
}

func (r *rig) begin(h handover.Handover) halfway {
	r.t.Helper()
	text := body(r.t, h)
	reader, writer := io.Pipe()
	q := httptest.NewRequest("PUT", path(h), reader)
	q.Header.Set("Content-Type", wire.BatchType)
	q.ContentLength = int64(len(text))
	answered, read := make(chan *httptest.ResponseRecorder, 1), make(chan struct{})
	go func() {
		w := httptest.NewRecorder()
		r.server.ServeHTTP(w, q)
		reader.Close() // nobody reads what is left
		answered <- w
	}()
	half := len(text) / 2
	go func() {
		writer.Write(text[:half])
		writer.Write(text[half : half+1]) // which is read when all before it is dealt
		close(read)
	}()
	return halfway{answered, read, func() {
		<-read
		writer.Write(text[half+1:])
		writer.Close()
	}}
}

// A batch that comes to two services at once is counted once: whoever comes second is told to
// come again, and neither deletes what the other wrote. Nobody waits for the end of a lease here, so that it is long:
// the second may be slow to come.
func TestABatchThatComesTwiceAtOnce(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	both(t, func(t *testing.T, dsn string) {
		first, second := pair(t, dsn, c, time.Minute)
		for _, h := range c.handovers {
			var other halfway
			first.hook("batch-dealt", sync.OnceValue(func() error {
				other = second.begin(h)
				<-other.read
				return nil
			}))
			w := first.put(h)
			other.goOn()
			first.wants(w, created, "")
			later(t, second, <-other.answered)
			second.wants(second.put(h), ok, "")
		}
		second.countedOnce(c, 4)
		if got := first.released(c); got != want {
			t.Error("another release came out than of one process")
		}
		if left := first.left(); len(left) > 0 {
			t.Errorf("%d blobs are left", len(left))
		}
	})
}

// A request that was held up while it dealt a batch, for longer than the batch is its own, comes
// to itself when another deals the batch: it neither takes anything from the other nor leaves
// anything.
func TestALateDealer(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	both(t, func(t *testing.T, dsn string) {
		late, prompt := pair(t, dsn, c, shardLease)
		for _, h := range c.handovers {
			held := late.begin(h)
			<-held.read
			prompt.hook("batch-dealt", sync.OnceValue(func() error {
				held.goOn()
				later(t, late, <-held.answered)
				return nil
			}))
			var w *httptest.ResponseRecorder
			for range 100 {
				if w = prompt.put(h); w.Code != 503 {
					break
				}
				time.Sleep(shardLease / 3)
			}
			prompt.wants(w, created, "")
			late.wants(late.put(h), ok, "")
		}
		late.countedOnce(c, 4)
		if got := late.released(c); got != want {
			t.Error("another release came out than of one process")
		}
		if left := late.left(); len(left) > 0 {
			t.Errorf("%d blobs are left", len(left))
		}
	})
}

// Parts of a batch that several hops' requests bring to two services at once are counted once.
func TestPartsThatComeSeveralTimesAtOnce(t *testing.T) {
	c := collect(t, nil)
	want := inMemory(t, c)
	both(t, func(t *testing.T, dsn string) {
		first, second := pair(t, dsn, c, shardLease)
		for _, h := range c.handovers {
			p := c.inParts(h, 3)
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					r := []*rig{first, second}[i%2]
					r.handOver(p, func() { time.Sleep(10 * time.Millisecond) })
				})
			}
			all.Wait()
			first.wants(first.putManifest(p), ok, "")
		}
		if got := first.released(c); got != want {
			t.Error("another release came out than of one process")
		}
		if left := first.left(); len(left) > 0 {
			t.Errorf("%d blobs are left", len(left))
		}
	})
}
