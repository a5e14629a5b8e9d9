package shufflerd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// cover is the PUT of a contribution's body as cover.
func (w *world) cover(name string, body []byte) *http.Request {
	r := w.request(name, body)
	r.URL.Path = wire.ContributionPath(w.plan.Hash(), 0, wire.CoverID(body))
	return r
}

// kept are the contents of the entry's inbox, by label.
func (w *world) kept() map[string]int {
	w.t.Helper()
	labels := map[string]int{}
	shelf, err := w.hops[0].store.Open(context.Background(), inbox.ShelfName(postName(w.plan.Hash(), 0, 0)))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, label := range map[string]uint32{"0": 0, "1": 1, "cover": inbox.CoverTag} {
		n, err := shelf.Count(context.Background(), 1, label)
		if err != nil {
			w.t.Fatal(err)
		}
		if n > 0 {
			labels[name] = n
		}
	}
	return labels
}

// Cover is acknowledged once it is on disk, like an answer, with the same status
// each time: what was measured by the clock, when cover was thrown away unwritten,
// told the two apart in 96 of 100 requests.
func TestCoverTakesTheStepsOfAnAnswer(t *testing.T) {
	w := newWorld(t, 1, nil)
	var steps []string
	w.failpoint = func(_ int, name string) error {
		steps = append(steps, fmt.Sprint(name, w.kept()))
		return nil
	}
	body := w.contribution(0, 1)
	for _, c := range []struct {
		request *http.Request
		status  int
		steps   []string
	}{
		{w.request("device1", body), http.StatusCreated, []string{"contribution-keptmap[0:1]"}},
		{w.request("device1", body), http.StatusOK, []string{"contribution-keptmap[0:1]"}},
		{w.cover("device2", body), http.StatusCreated, []string{"contribution-keptmap[0:1 cover:1]"}},
		{w.cover("device2", body), http.StatusOK, []string{"contribution-keptmap[0:1 cover:1]"}},
		// More of it is written too, from whoever has answered or not.
		{w.cover("device2", w.contribution(0, 2)), http.StatusCreated, []string{"contribution-keptmap[0:1 cover:2]"}},
		{w.cover("device1", body), http.StatusCreated, []string{"contribution-keptmap[0:1 cover:3]"}},
		{w.request("device2", w.contribution(0, 2)), http.StatusCreated, []string{"contribution-keptmap[0:2 cover:3]"}},
	} {
		steps = nil
		if status, code := w.do(0, c.request); status != c.status || !slices.Equal(steps, c.steps) {
			t.Errorf("%s: %d %s in steps %q; want %d in %q", c.request.URL.Path, status, code, steps, c.status, c.steps)
		}
	}
	// What is not on disk is not acknowledged.
	w.hops[0].store.Close()
	for _, r := range []*http.Request{w.request("device3", body), w.cover("device3", body)} {
		if status, _ := w.do(0, r); status < 500 {
			t.Errorf("%s: %d without a disk", r.URL.Path, status)
		}
	}
}

// Cover counts for nothing, and is gone from the disk when the epoch is over.
func TestCoverCountsForNothing(t *testing.T) {
	for name, crowds := range map[string][]int{"one crowd": {3}, "two crowds": {3, 4}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, nil)
			want := map[uint32][]string{}
			device := 0
			for crowd, n := range crowds {
				var devices []int
				for range n {
					w.contribute(uint32(crowd), device)
					devices = append(devices, device)
					if status, code := w.do(0, w.cover(fmt.Sprint("device", device), w.contribution(0, 99))); status != http.StatusCreated {
						t.Errorf("cover: %d %s", status, code)
					}
					device++
				}
				want[uint32(crowd)] = sent(devices...)
			}
			if n := w.kept()["cover"]; n != device {
				t.Errorf("%d covers on disk, of %d", n, device)
			}
			w.restart(0)
			w.end()
			if err := w.step(); err != nil {
				t.Fatal(err)
			}
			wantCrowds(t, w, want)
			w.settled(0)
		})
	}
}

// One respondent cannot fill a disk with cover.
func TestCoverHasACap(t *testing.T) {
	w := newWorld(t, 1, nil)
	for i := range inbox.MaxCovers + 2 {
		status, code := w.do(0, w.cover("device1", w.contribution(0, 1)))
		if full := i >= inbox.MaxCovers; full != (code == wire.RateLimited) || !full && status != http.StatusCreated {
			t.Errorf("cover %d: %d %s", i+1, status, code)
		}
	}
	if status, code := w.do(0, w.cover("device2", w.contribution(0, 1))); status != http.StatusCreated {
		t.Errorf("another's: %d %s", status, code)
	}
	w.contribute(0, 1)
}

// Nor by sending all at once, and again where the entry has too much to do.
func TestCoverHasACapAtOnce(t *testing.T) {
	w := newWorld(t, 1, nil)
	bodies := make([][]byte, 3*inbox.MaxCovers)
	for i := range bodies {
		bodies[i] = w.contribution(0, 1)
	}
	var all sync.WaitGroup
	for _, body := range bodies {
		r := w.cover("device1", body)
		all.Go(func() {
			for status, code := w.do(0, r); status != http.StatusCreated && code != wire.RateLimited; status, code = w.do(0, r) {
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
		})
	}
	all.Wait()
	if n := w.kept()["cover"]; n != inbox.MaxCovers {
		t.Errorf("%d covers of one respondent are kept, and %d are allowed", n, inbox.MaxCovers)
	}
}

// BenchmarkContribute is what an acknowledgement of 256 envelopes takes, of an
// answer and of cover.
func BenchmarkContribute(b *testing.B) {
	for _, kind := range []string{"answer", "cover"} {
		b.Run(kind, func(b *testing.B) {
			w := newWorld(b, 1, func(p *plan.Plan) { p.Question.Density.Repetitions = 256; p.Envelopes.PerDevice = 256 })
			for d := range 1000 {
				w.respondent(fmt.Sprint("device", d))
			}
			w.restart(0)
			body := w.contribution(0, 0)
			for d := 0; b.Loop(); d++ {
				b.StopTimer()
				// Another body each time, as devices have; a few bytes suffice.
				copy(body[len(body)-4:], fmt.Sprintf("%04d", d%10000))
				r := w.request(fmt.Sprint("device", d%1000), body)
				if kind == "cover" {
					r = w.cover(fmt.Sprint("device", d%1000), body)
				}
				b.StartTimer()
				if status, code := w.do(0, r); status != http.StatusCreated && d < 1000 {
					b.Fatal(status, code)
				}
			}
		})
	}
}
