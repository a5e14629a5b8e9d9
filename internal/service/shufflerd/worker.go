package shufflerd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
)

// task is a step of a crowd as it lies on the shelf of steps. Where the crowd's parts are is in
// its mark alone, and its key on its own shelf.
type task struct {
	Plan     []byte     `json:"plan"` // its hash
	Instance int        `json:"instance"`
	Hop      int        `json:"hop"`
	Crowd    uint32     `json:"crowd"`
	Under    string     `json:"under"` // the attempt
	Step     mixer.Step `json:"step"`
}

// share asks all workers for steps, this process among them, and takes some itself. asked is
// when each was asked for; what was not done long after is asked for again.
func (t *post) share(ctx context.Context, c uint32, under string, steps []mixer.Step, asked map[mixer.Step]time.Time) (map[mixer.Step]time.Time, error) {
	still := make(map[mixer.Step]time.Time, len(steps))
	for _, step := range steps {
		at, before := asked[step]
		if !before || time.Since(at) > 2*t.s.worker.steps.Lease() {
			at = time.Now()
			body := shelves.Marshal(task{t.hash[:], t.instance, t.hop, c, under, step})
			if err := t.s.worker.steps.Add(ctx, fmt.Sprintf("%s_%d_%t_%d", t.name, c, step.Gather, step.Number), body); err != nil {
				return asked, err
			}
		}
		still[step] = at
	}
	// As many are taken here as make it worth while to list the results of all again.
	for range 1 + len(steps)/8 {
		there, err := t.s.worker.once(ctx, time.Second)
		if errors.Is(err, mixer.ErrElsewhere) {
			return still, err // of all crowds: they lie in one store
		}
		if err != nil && ctx.Err() == nil { // somebody else's trouble with a step is no reason to stop here
			t.s.o.Log.Warn("a step was not done, and will be tried again", "error", err.Error())
		}
		if fault := t.s.o.Failpoint("step-done"); fault != nil {
			return still, fault
		}
		if _, withdrawn := t.s.withdrawals.Find(t.hash); withdrawn || err != nil || !there {
			break
		}
	}
	return still, ctx.Err()
}

// worker takes steps of whatever crowds are laid out. It holds no state but what it has
// read, and may be killed at any moment.
type worker struct {
	rows  *rows.Store
	blobs blob.Store
	steps *shelves.Steps
	keys  string // folder
	log   *slog.Logger
	took  func(time.Duration) // by each step that was done

	mu   sync.Mutex
	hops map[string]*shuffler.Hop // by the name of the post
}

// once waits for a step, at most so long, and takes it. It reports whether there was one.
func (w *worker) once(ctx context.Context, wait time.Duration) (bool, error) {
	taken, there, err := w.steps.Take(ctx, wait)
	if err != nil || !there {
		return false, err
	}
	return true, taken.Do(ctx, func(ctx context.Context) error {
		var t task
		if err := json.Unmarshal(taken.Body, &t); err != nil || len(t.Plan) != 32 {
			w.log.Error("a step on the shelf is none of ours")
			return nil
		}
		return w.do(ctx, t)
	})
}

func (w *worker) do(ctx context.Context, t task) error {
	name := postName([32]byte(t.Plan), t.Instance, t.Hop)
	value, there, err := w.rows.Get(ctx, rows.Crowds, fmt.Sprintf("%s/%d", name, t.Crowd))
	if err != nil {
		return err
	}
	if !there {
		return nil // the plan was forgotten
	}
	state, err := parseCrowd(value)
	if err != nil {
		return err
	}
	if state.Phase != laidOut || state.Laid.Under != t.Under {
		return nil // it was done meanwhile
	}
	state.Laid.Key, err = w.rows.Key(ctx, name, t.Crowd, orderOf(*state.Laid))
	if errors.Is(err, keep.ErrDropped) {
		return nil // likewise
	}
	if err != nil {
		return err
	}
	hop, err := w.hop(ctx, name, t)
	if err != nil {
		return err
	}
	// Who waited for long may come after the others.
	done, err := state.Laid.Done(ctx, w.blobs, t.Step)
	if done {
		return nil
	}
	begun := time.Now()
	if err == nil {
		err = state.Laid.Do(ctx, hop, w.blobs, t.Step)
	}
	if errors.Is(err, mixer.ErrLost) {
		return nil // that stands in the store now
	}
	if err == nil {
		w.took(time.Since(begun))
	}
	return err
}

// hop opens for a post, by the plan that its service has taken and the keys that are here.
func (w *worker) hop(ctx context.Context, name string, t task) (*shuffler.Hop, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.hops[name]; h != nil {
		return h, nil
	}
	text, there, err := w.rows.Get(ctx, rows.Plans, planKey([32]byte(t.Plan)))
	if err != nil || !there {
		return nil, errors.Join(err, errors.New("shuffler: a step is of a plan that is not served"))
	}
	signed, err := plan.ParseSigned(text)
	if err != nil {
		return nil, fmt.Errorf("shuffler: a plan that is served: %w", err)
	}
	open, err := serve.OpeningKeys(w.keys)
	if err != nil {
		return nil, err
	}
	instances := signed.Plan.Route.Instances()
	if t.Instance < 0 || t.Instance >= len(instances) || t.Hop < 0 || t.Hop >= len(instances[t.Instance].Hops) {
		return nil, errors.New("shuffler: a step is of a hop that its plan has not")
	}
	key, ours := open[instances[t.Instance].Hops[t.Hop].Key]
	if !ours {
		return nil, errors.New("shuffler: a step needs a private key that is not here")
	}
	h, err := shuffler.NewHop(signed.Plan, t.Instance, t.Hop, key)
	if err == nil {
		w.hops[name] = h
	}
	return h, err
}

// run takes steps until the context ends.
func (w *worker) run(ctx context.Context) {
	r := rng.New()
	for failures := 0; ctx.Err() == nil; failures++ {
		_, err := w.once(ctx, 5*time.Second)
		if err == nil || ctx.Err() != nil {
			failures = -1
			continue
		}
		w.log.Warn("a step was not done, and will be tried again", "error", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(backoff(r, min(failures, 4), err)): // 3.2 s at most: the store may be back
		}
	}
}

// NewWorker opens what a worker needs, of Options Keys, Store and Blobs, and returns what
// takes steps until the context ends: those of a service with Share.
func NewWorker(ctx context.Context, o Options) (run func(context.Context), err error) {
	o.Default(defaultRetention)
	store, err := rows.Open(ctx, o.Store, false)
	if err != nil {
		return nil, err
	}
	w, err := newWorker(ctx, o, store)
	if err != nil {
		return nil, err
	}
	return w.run, nil
}

// newWorker opens what a worker needs on a store.
func newWorker(ctx context.Context, o Options, store *rows.Store) (*worker, error) {
	steps, err := shelves.OpenSteps(ctx, store, cmp.Or(o.StepLease, 30*time.Second))
	if err != nil {
		return nil, err
	}
	return &worker{
		rows: store, blobs: o.Blobs, steps: steps, keys: o.Keys, log: o.Log, hops: map[string]*shuffler.Hop{},
		took: o.Metrics.Meter.Backlog("mixing_steps", steps.Backlog),
	}, nil
}
