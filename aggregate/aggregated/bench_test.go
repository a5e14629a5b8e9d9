package aggregated

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/confetti-dp/confetti/aggregate"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/plan"
)

// What a leader spends on a report of 1,024 cells: its own part of the verification alone,
// and to take it, on disk before it answers, from many devices at once.
func BenchmarkLeader(b *testing.B) {
	w := newWorld(b, func(p *plan.Plan) {
		p.Route.Sum.Circuit.Length, p.Route.Sum.Chunk = 1024, 69
	})
	const many = 128
	vector := make([]uint64, 1024)
	vector[7] = 1
	bare := make([]dap.Report, many)
	var err error
	for i := range bare {
		if bare[i], err = w.task().Report(w.random, vector, w.time(), nil); err != nil {
			b.Fatal(err)
		}
	}
	c := found(w.nodes[dap.Leader].service, w.plan.Hash()).crowds[0]
	b.Run("prepare", func(b *testing.B) {
		for range b.N/many + 1 {
			if job := c.leader.Begin(c.batch(), bare); job.Refused > 0 {
				b.Fatal("refused")
			}
		}
	})
	b.Run("accept", func(b *testing.B) {
		to := dap.ReportsPath(c.ID)
		n := max(b.N, aggregate.MostReports)
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("bench%d-%d", b.N, i)
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
		bodies := make([][]byte, n)
		for i := range bodies {
			r := bare[i%many]
			copy(r.ID[:], fmt.Sprintf("%08x%08x", b.N, i)) // another name: it is kept, and would be refused later
			bodies[i] = r.Append(nil)
		}
		b.ResetTimer()
		var wg sync.WaitGroup
		next := make(chan int)
		for range 64 {
			wg.Go(func() {
				for i := range next {
					if status, text, _ := w.ask(dap.Leader, to, dap.UploadType, tokens[i], bodies[i]); status != http.StatusOK {
						b.Errorf("%d: %s", status, text)
					}
				}
			})
		}
		for i := range n {
			next <- i
		}
		close(next)
		wg.Wait()
	})
}
