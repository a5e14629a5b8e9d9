package aggregated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
)

// brief returns a lease: a process that says nothing for so long has lost what it took.
func (w *world) brief() time.Duration {
	if w.onPostgres() {
		return time.Second // in which a process of a busy machine says something
	}
	return 50 * time.Millisecond
}

func (w *world) onPostgres() bool { return strings.ContainsAny(w.databases[dap.Leader], "=:") }

// beside is a process of an aggregator that has its store too.
type beside struct {
	*Service
	server *serve.Server

	dies    func(point string) error // nil: it does not
	stops   func(point string) bool  // where the process is stopped; nil: nowhere
	stopped chan struct{}            // closed when it is
	goes    chan struct{}            // closed when it may go on
	silent  atomic.Bool              // it says nothing of what it holds
}

// beside starts a process. bug is what is wrong with it: see strange.
func (w *world) beside(role dap.Role, bug string) *beside {
	w.t.Helper()
	b := &beside{stopped: make(chan struct{}), goes: make(chan struct{})}
	store := w.nodes[role].store
	if w.onPostgres() {
		own, err := open(w.databases[role])
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { own.Close() })
		store = own
	}
	var reached atomic.Bool
	b.Service, b.server = w.process(role, strange{store, b, bug}, w.brief(), func(point string) error {
		if b.stops != nil && b.stops(point) && reached.CompareAndSwap(false, true) {
			b.silent.Store(true)
			close(b.stopped)
			<-b.goes
			b.silent.Store(false)
		}
		if b.dies != nil {
			return b.dies(point)
		}
		return nil
	})
	b.shard = 2
	return b
}

// strange is the store of a process that may be stopped, or has a bug.
type strange struct {
	keep.Store
	of  *beside
	bug string
}

const (
	noFence = "it adds a job whatever has become of the shard"
	redraws = "it draws noise whatever was drawn"
)

func (s strange) Open(ctx context.Context, name string) (keep.Shelf, error) {
	return s.odd(name)(s.Store.Open(ctx, name))
}

func (s strange) Create(ctx context.Context, name string) (keep.Shelf, error) {
	return s.odd(name)(s.Store.Create(ctx, name))
}

func (s strange) odd(name string) func(keep.Shelf, error) (keep.Shelf, error) {
	return func(shelf keep.Shelf, err error) (keep.Shelf, error) {
		if err != nil {
			return nil, err
		}
		return &oddShelf{shelf, s, name, map[string][]byte{}}, nil
	}
}

type oddShelf struct {
	keep.Shelf
	of   strange
	name string
	seen map[string][]byte // rows of jobs, as they were read last
}

func (o *oddShelf) Get(ctx context.Context, t keep.Table, key string) ([]byte, bool, error) {
	value, there, err := o.Shelf.Get(ctx, t, key)
	if there && t == 4 && o.of.bug == noFence {
		o.seen[key] = bytes.Clone(value)
	}
	return value, there, err
}

func (o *oddShelf) Update(ctx context.Context, fn func(keep.Tx) error) error {
	if o.name == "steps" && o.of.of.silent.Load() {
		return keep.ErrUnavailable
	}
	return o.Shelf.Update(ctx, func(tx keep.Tx) error { return fn(oddTx{tx, o}) })
}

type oddTx struct {
	keep.Tx
	of *oddShelf
}

func (x oddTx) Get(t keep.Table, key string) ([]byte, bool, error) {
	if x.of.of.bug == noFence && t == 4 && x.of.seen[key] != nil {
		return bytes.Clone(x.of.seen[key]), true, nil
	}
	if x.of.of.bug == redraws && t == shares {
		return nil, false, nil
	}
	return x.Tx.Get(t, key)
}

// all adds shards until none is there.
func (b *beside) all(ctx context.Context) error {
	for {
		if there, err := b.worker.once(ctx, 0); err != nil || !there {
			return err
		}
	}
}

// work does what Run does, until it ends.
func (b *beside) work(ctx context.Context) error {
	return errors.Join(b.all(ctx), b.Step(ctx), b.all(ctx), b.Step(ctx))
}

// answered has devices send honest reports and one lie, and the plan close. It returns what was sent.
func (w *world) answered() (reports []dap.Report) {
	w.t.Helper()
	for _, cell := range said {
		reports = append(reports, w.report(cell))
	}
	reports = append(reports, w.lie())
	for d, r := range reports {
		if status := w.upload(d, r); status != http.StatusOK {
			w.t.Fatal(status)
		}
	}
	w.close()
	return reports
}

// alone returns what each aggregator adds up of reports in one process, in one go.
func (w *world) alone(reports []dap.Report) (leaders, helpers aggregator.Batch) {
	w.t.Helper()
	c := found(w.nodes[dap.Leader].service, w.plan.Hash()).crowds[0]
	job := c.leader.Begin(c.batch(), reports)
	verified := found(w.nodes[dap.Helper].service, w.plan.Hash()).crowds[0].helper.Verify(job.Request)
	answers := make([]dap.VerifyResp, len(verified))
	for i, v := range verified {
		if answers[i] = v.VerifyResp; v.Message == nil {
			helpers.Refused++
		} else if err := helpers.Add(v.ID, v.Share); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := c.leader.Finish(job, dap.MarshalAggregationResp(answers), &leaders); err != nil {
		w.t.Fatal(err)
	}
	return leaders, helpers
}

// What shards add up to, whoever adds them and in whatever order, is to the last bit what one process adds up in one go, at
// both aggregators; and so is what leaves, by the same draws.
func TestShardsAddUpToWhatOneProcessDoes(t *testing.T) {
	places(t, func(t *testing.T) {
		w := newWorld(t, func(p *plan.Plan) {
			p.Route.Sum.Noise, p.Route.Sum.Law, p.Route.Sum.Decay = plan.NoiseAggregators, plan.LawLaplace, 0.5
		})
		wantLeader, wantHelper := w.alone(w.answered())

		workers := []*beside{w.beside(dap.Leader, ""), w.beside(dap.Leader, ""), w.beside(dap.Leader, "")}
		if err := workers[0].Step(t.Context()); err != nil { // which deals
			t.Fatal(err)
		}
		for i := 0; ; i++ {
			there, err := workers[i%3].worker.once(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if !there {
				if i < 2 {
					t.Errorf("%d shards were added", i)
				}
				break
			}
		}
		for role, want := range map[dap.Role]aggregator.Batch{dap.Leader: wantLeader, dap.Helper: wantHelper} {
			s := w.nodes[role].service
			crowd := found(s, w.plan.Hash()).crowds[0]
			got, err := s.sum(t.Context(), crowd)
			if err != nil {
				t.Fatal(err)
			}
			a, err1 := got.MarshalBinary()
			b, err2 := want.MarshalBinary()
			if err := errors.Join(err1, err2); err != nil || !bytes.Equal(a, b) || got.Reports != uint64(len(said)) {
				t.Errorf("aggregator %d has added another sum of %d reports: %v", role, got.Reports, err)
			}
			noisy := func(b aggregator.Batch) []byte {
				if role == dap.Leader {
					v, err := crowd.leader.Noisy(seeded.New(7), b)
					if err != nil {
						t.Fatal(err)
					}
					text, _ := v.MarshalBinary()
					return text
				}
				v, err := crowd.helper.Noisy(seeded.New(7), b)
				if err != nil {
					t.Fatal(err)
				}
				text, _ := v.MarshalBinary()
				return text
			}
			if !bytes.Equal(noisy(got), noisy(want)) {
				t.Errorf("aggregator %d tells something else by the same draws", role)
			}
		}
	})
}

// outlived has a process of an aggregator be stopped at a step for longer than its lease, while others go on to the
// end, or early until all is added, and then go on itself. It returns what must not have come of that.
func (w *world) outlived(role dap.Role, point string, early bool, bug string) (violations []string) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer stop()
	w.all(said...)
	w.upload(11, w.lie())
	w.close()
	slow, other := w.beside(role, bug), w.beside(dap.Leader, bug)
	first := slow
	var late sync.WaitGroup // what a stopped helper still does
	defer late.Wait()
	goes := sync.OnceFunc(func() { close(slow.goes) })
	defer goes()
	if role == dap.Helper {
		first = w.beside(dap.Leader, "")
		w.meddle = func(r *http.Request, send func() *http.Response) (*http.Response, error) {
			select {
			case <-slow.stopped: // requests come to another of the helper's
				return send(), nil
			default:
				rec, in := httptest.NewRecorder(), r.Clone(context.WithoutCancel(r.Context()))
				in.RequestURI = r.URL.RequestURI()
				served := make(chan struct{})
				late.Go(func() { slow.server.ServeHTTP(rec, in); close(served) })
				select {
				case <-served:
					return rec.Result(), nil
				case <-slow.stopped:
					return nil, errors.New("nobody answers for a long time")
				}
			}
		}
	}
	slow.stops = func(at string) bool { return at == point }
	ended := make(chan error, 1)
	go func() {
		err := first.Step(ctx)
		for range 3 {
			err = errors.Join(err, first.work(ctx))
		}
		ended <- err
	}()
	select {
	case <-slow.stopped:
	case err := <-ended:
		select {
		case <-slow.stopped: // and the others were through before anybody looked
			ended <- err
		default:
			w.t.Fatalf("%s was not reached: %v", point, err)
		}
	}
	if early { // its write meets sums of which nothing has left
		c := found(other.Service, w.plan.Hash()).crowds[0]
		for left := []int{0}; len(left) > 0 && ctx.Err() == nil; time.Sleep(w.brief() / 5) {
			if err := other.all(ctx); err != nil {
				w.t.Fatal(err)
			}
			var err error
			left, err = c.of.kept.Shards(ctx, 0, rows.Cut{})
			if errors.Is(err, keep.ErrDropped) {
				break // who asked the helper has done all of it meanwhile
			} else if err != nil {
				w.t.Fatal(err)
			}
		}
		goes()
		<-ended
	}
	var last error
	var before []byte
	for before == nil && ctx.Err() == nil {
		last = other.work(ctx)
		if status, body, _ := w.collected(); status == http.StatusOK {
			before = body
		} else if status != http.StatusAccepted {
			if !early {
				goes()
				<-ended
			}
			return append(violations, fmt.Sprintf("the analyzer is answered %d", status))
		}
		if bug != "" && other.fails(w) {
			break
		}
		time.Sleep(w.brief() / 5)
	}
	if !early {
		goes()
		<-ended // it may say that another has done it
	}
	if before == nil {
		return append(violations, fmt.Sprintf("there is no sum: %v", last))
	}
	for range 3 {
		first.work(ctx)
		other.work(ctx)
	}
	status, after, _ := w.collected()
	if !bytes.Equal(before, after) {
		violations = append(violations, fmt.Sprintf("the analyzer is given something else afterwards: %d", status))
		return violations
	}
	if alarms := w.nodes[dap.Helper].service.Status(ctx).Alarms; len(alarms) > 0 {
		violations = append(violations, fmt.Sprintf("the helper says %q", alarms))
	}
	if sums, n := w.opened(); !slices.Equal(sums, want) || n != uint64(len(said)) {
		violations = append(violations, fmt.Sprintf("%d reports sum to %v", n, sums))
	}
	return violations
}

// fails reports whether the process says that the sum can never be had.
func (b *beside) fails(w *world) bool {
	p := found(b.Service, w.plan.Hash())
	return p != nil && p.crowds[0].failed() != ""
}

// A process that is stopped anywhere for longer than its lease, and goes on when others have done its work, changes nothing:
// every report is counted once, noise is drawn once, and both aggregators have the same reports. On a folder alone: PostgreSQL
// takes a lock from a process that was stopped in the middle of a write half a minute later, as a test of that store shows.
func TestAProcessThatOutlivesItsLeaseChangesNothing(t *testing.T) {
	points := map[dap.Role][]string{
		dap.Leader: {"job-verified", "rows/jobs", "rows/add", "rows/add/committed", "rows/share", "rows/share/committed", "share-drawn", "helper-shared", "sum-ready", "rows/forget"},
		dap.Helper: {"helper-verified", "rows/spend", "rows/spend/committed", "rows/add", "rows/add/committed", "helper-added", "rows/share", "rows/share/committed", "share-drawn"},
	}
	for role, all := range points {
		for _, point := range all {
			for _, early := range []bool{true, false} {
				if early && point != "job-verified" && point != "rows/add" && point != "rows/add/committed" {
					continue
				}
				test := func(t *testing.T) {
					if said := newWorld(t, nil).outlived(role, point, early, ""); len(said) > 0 {
						t.Errorf("%q", said)
					}
				}
				t.Run(fmt.Sprintf("%d/%s/%t", role, point, early), test)
			}
		}
	}
}

// Workers that ignore their fence, and leaders that draw again, are caught by the same schedules.
func TestProcessesWithABugAreCaught(t *testing.T) {
	for _, twin := range []struct{ bug, point string }{{noFence, "rows/add"}, {redraws, "share-drawn"}} {
		if said := newWorld(t, nil).outlived(dap.Leader, twin.point, twin.bug == noFence, twin.bug); len(said) == 0 {
			t.Errorf("%s: it is not caught", twin.bug)
		} else {
			t.Logf("%s: %q", twin.bug, said)
		}
	}
}

// Processes of both aggregators that come and go, over a network that loses, doubles and delays messages, count every
// report once.
func TestWorkersAtRandom(t *testing.T) {
	n := uint64(12)
	if testing.Short() {
		n = 4
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, nil)
			r := seeded.New(seed, 41)
			w.all(said...)
			w.close()
			var late []func() *http.Response
			w.meddle = unreliable(r, &late)
			steps := slices.Concat(rows.Failpoints, failpoints)
			workers := []*beside{w.beside(dap.Leader, ""), w.beside(dap.Leader, ""), w.beside(dap.Leader, "")}
			for _, b := range workers {
				b.most, b.shard = 1+r.IntN(3), 1+r.IntN(3) // whoever cuts first decides
			}
			for step := 0; ; step++ {
				if step == 60 {
					w.meddle = nil
				}
				if step == 400 {
					t.Fatal("nothing comes to an end")
				}
				i := r.IntN(len(workers))
				b := workers[i]
				if at := steps[r.IntN(len(steps))]; step < 60 && r.IntN(3) == 0 { // from there on nothing that it does succeeds
					dead := false
					b.dies = func(point string) error {
						if dead = dead || point == at; dead {
							return errKilled
						}
						return nil
					}
				}
				switch r.IntN(3) {
				case 0:
					b.Step(t.Context())
				default:
					b.worker.once(t.Context(), 0)
				}
				if len(late) > 0 && r.IntN(3) == 0 {
					late[0]()
					late = late[1:]
				}
				if r.IntN(4) == 0 {
					b.silent.Store(true)
					workers[i] = w.beside(dap.Leader, "")
				}
				if step%10 == 9 {
					time.Sleep(w.brief())
				}
				if status, _, _ := w.collected(); status == http.StatusOK && step > 60 {
					break
				}
			}
			for _, send := range late {
				send()
			}
			w.want(want, uint64(len(said)))
		})
	}
}
