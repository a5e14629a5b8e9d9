package shufflerd

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// BenchmarkHop is what a hop with durable accept does in all, beside what the
// machine opens with nothing else to do, on as many cores: contributions of 64
// envelopes are accepted by the handler, mixed, and handed on.
func BenchmarkHop(b *testing.B) {
	const perDevice, people, workers = 64, 200, 16
	w := newWorld(b, 1, func(p *plan.Plan) {
		p.Question.Density.Repetitions, p.Envelopes.PerDevice = perDevice, perDevice
	})
	w.stop(0)
	for d := devices; d < people; d++ {
		w.respondent(fmt.Sprint("device", d))
	}
	w.start(0)
	bodies := make([][]byte, people)
	for d := range bodies {
		bodies[d] = w.contribution(0, d)
	}
	form := example.Form(w.plan, 0)
	var accepted, mixed, bare time.Duration
	for round := 0; b.Loop(); round++ {
		start := time.Now()
		next := make(chan int)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for d := range next {
					if status, code := w.do(0, w.request(fmt.Sprint("device", d), bodies[d])); status != http.StatusCreated {
						b.Errorf("%d %s", status, code)
					}
				}
			})
		}
		for d := range people {
			next <- d
		}
		close(next)
		wg.Wait()
		accepted += time.Since(start)

		now := w.now
		w.end()
		start = time.Now()
		if err := w.step(); err != nil {
			b.Fatal(err)
		}
		mixed += time.Since(start)

		start = time.Now()
		var opening sync.WaitGroup
		for half := range 2 {
			opening.Go(func() {
				for d := half; d < people; d += 2 {
					if _, err := form.Open(w.opening[0], 0, bodies[d]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		opening.Wait()
		bare += time.Since(start)

		// The same plan again, on an empty disk.
		w.stop(0)
		w.now = now
		clear(w.batches)
		w.fresh(0)
	}
	n := float64(b.N * people * perDevice)
	b.ReportMetric(n/accepted.Seconds(), "accepted/s")
	b.ReportMetric(n/mixed.Seconds(), "mixed/s")
	b.ReportMetric(n/bare.Seconds(), "bare-opens/s")
	b.ReportMetric(bare.Seconds()/(accepted+mixed).Seconds(), "of-bare")
	b.ReportMetric(0, "ns/op") // of everything together: of no meaning
}
