package aggregated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// shardTask names a shard on the shelf of steps.
type shardTask struct {
	Plan  []byte `json:"plan"` // its hash
	Crowd int    `json:"crowd"`
	Shard int    `json:"shard"`
}

// worker takes shards of whatever plans of a leader are closed. It may be killed at any moment. A lease saves work and
// guards nothing: two may be at one shard. The helper answers both alike, and the first write of a job is the last
// (rows.Plan.Add).
type worker struct {
	s     *Service
	steps *shelves.Steps
	took  func(time.Duration) // by each shard that was added whole
}

func newWorker(ctx context.Context, s *Service) (*worker, error) {
	steps, err := shelves.OpenSteps(ctx, s.o.Store, s.o.Lease)
	if err != nil {
		return nil, err
	}
	w := &worker{s: s, steps: steps}
	if s.o.Role == dap.Leader {
		w.took = s.o.Metrics.Meter.Backlog("aggregator_shards", steps.Backlog)
	}
	return w, nil
}

// deal asks all workers for shards of a crowd. What was not done long after is asked for again.
func (w *worker) deal(ctx context.Context, c *crowd, shards []int) error {
	still := make(map[int]time.Time, len(shards))
	for _, shard := range shards {
		at, before := c.asked[shard]
		if !before || time.Since(at) > 2*w.steps.Lease() {
			at = time.Now()
			if err := w.steps.Add(ctx, fmt.Sprintf("%s_%d_%d", c.of.name, c.number, shard), shelves.Marshal(shardTask{c.of.hash[:], c.number, shard})); err != nil {
				return shelves.Answer(err)
			}
		}
		still[shard] = at
	}
	c.asked = still
	return nil
}

// once waits for a shard, at most so long, and adds it. It reports whether there was one.
func (w *worker) once(ctx context.Context, wait time.Duration) (bool, error) {
	taken, there, err := w.steps.Take(ctx, wait)
	if err != nil || !there {
		return false, err
	}
	return true, taken.Do(ctx, func(ctx context.Context) error {
		var t shardTask
		if err := json.Unmarshal(taken.Body, &t); err != nil || len(t.Plan) != 32 {
			w.s.o.Log.Error("a shard on the shelf of steps is none of ours")
			return nil
		}
		return w.do(ctx, t)
	})
}

// do adds a shard, unless that is done or is of no use any more.
func (w *worker) do(ctx context.Context, t shardTask) error {
	hash := [32]byte(t.Plan)
	if _, here := w.s.plans.Find(hash); !here { // another process may have taken it a moment ago
		if err := w.s.abreast(ctx); err != nil {
			return err
		}
	}
	p, here := w.s.plans.Find(hash)
	if !here || t.Crowd < 0 || t.Crowd >= len(p.crowds) {
		return nil
	}
	c, begun := p.crowds[t.Crowd], time.Now()
	for more := true; more; {
		if c.failed() != "" { // who leads the plan finds that too, and asks for no more
			return nil
		}
		var err error
		if more, err = w.job(ctx, c, t.Shard); errors.Is(err, keep.ErrDropped) {
			return nil // both shares are there, or it was withdrawn
		} else if more || err != nil {
			w.s.tried(c, err)
			p.hinder(err)
		}
		if err != nil {
			return err
		}
	}
	w.took(time.Since(begun))
	p.poke()
	return nil
}

// job adds a job of a shard, while the plan stands.
func (w *worker) job(ctx context.Context, c *crowd, shard int) (more bool, err error) {
	c.of.adding.RLock()
	defer c.of.adding.RUnlock()
	if _, here := w.s.plans.Find(c.of.hash); !here || c.of.kept.Forgotten() {
		return false, nil
	}
	if err := w.s.plans.Suspended(c.of.hash); err != nil {
		return false, err
	}
	return w.s.addJob(ctx, c, shard, 0)
}

// run takes shards until the context ends.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := w.once(ctx, 5*time.Second)
		if err == nil || ctx.Err() != nil {
			continue
		}
		w.s.o.Log.Warn("a shard was not added whole, and will be tried again", "error", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(poll): // the store may be back, or another has the shard
		}
	}
}

// Work takes shards that leaders of the same store ask for, until the context ends. It takes no report and draws no
// share.
func (s *Service) Work(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		registry.Follow(ctx, s.o.Log, "aggregator", s.takeUp)
	}()
	s.worker.run(ctx)
	<-done
}
