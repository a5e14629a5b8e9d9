// Package aggregated runs an aggregator as a service, the leader or the helper of plans whose answers are summed.
// Used by cmd/internal/aggregator and cmd/internal/server/roles.
//
// Aggregators meet each other, devices and the analyzer on the messages of DAP-18, and keep what they must not lose
// on shelves, of a folder or of a database (package rows).
//
//	leader: collecting -> closed -> added, job by job -> share drawn -> helper's share -> reports forgotten
//	helper: added, job by job -> share drawn
//
// A leader's jobs are cut into shards, by the names of reports. Processes that share a database add shards beside each
// other; one at a time then leads a plan to its end, and draws. A helper needs no shards: it takes each job once, from
// whomever of the leader's and at whichever of its own processes.
//
// Each arrow is one transaction, and what is made after one is made of the same bytes again: a process that is
// killed anywhere goes on where it was. Noise is drawn in the transaction that writes the share, before anybody is
// shown it. A plan is one epoch, and a crowd of it one task and one batch.
package aggregated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/party/aggregator"
)

// Options are what a service is made of. Store, Keys, Publishers, Pair and Client must be
// set.
type Options struct {
	// Common has among the rest Client, which reaches the helper; Retention of what is kept
	// of a plan after its end, by default 30 days; and Failpoint, which is called at each of
	// failpoints and of rows.Failpoints.
	serve.Common
	Role       dap.Role          // dap.Leader or dap.Helper
	Store      keep.Store        // whose owner the service becomes
	Blobs      blob.Store        // where a leader has bodies of reports; nil: in Store
	Disk       *atomicfile.Disk  // of the store's folder; nil: it lies elsewhere
	Lease      time.Duration     // for which a shard is added up by one process alone, where others have Store too; 0: none has
	Shard      int               // reports of a leader's shard, at most; 0: 4,096
	Files      string            // the folder by which the aggregators reach each other; "": by a network
	Publishers *serve.Publishers // whose plans are served
	Pair       aggregator.Pair   // the secret that both aggregators have

	// How respondents are told apart by a leader, where the plan demands no single-use
	// tokens of it.
	Bearers      *serve.Bearers
	Certificates bool // of the authorities that the server's TLS knows

	Collectors *serve.Bearers // of analyzers who fetch sums from a leader; nil: whoever asks gets what only the plan's analyzer can open
	Operators  *serve.Bearers // who may end a collection early; nil: nobody

	Limits serve.Visits
}

// failpoints are the steps that Options.Failpoint is called at.
var failpoints = []string{
	"reports-kept",    // on disk, not acknowledged
	"job-verified",    // by the helper, who has added it; not yet here
	"helper-verified", // in memory
	"helper-added",    // on disk, not answered
	"share-drawn",     // on disk, shown to nobody
	"helper-shared",   // the helper's share is in memory
	"sum-ready",       // both are on disk
}

const (
	lease            = 30 * time.Second
	shardReports     = 4096
	defaultRetention = 30 * 24 * time.Hour
	poll             = time.Second // how late a collection may end
)

// Service is a running aggregator. It is safe for concurrent use.
type Service struct {
	o       Options
	rows    *rows.Store
	worker  *worker // of those that share Store; nil: this process is alone
	rates   *serve.Rates[serve.Respondent]
	buffers sync.Pool // of *[]byte
	most    int       // reports of a job
	shard   int       // jobs of a shard

	withdrawals *registry.Withdrawals
	plans       *registry.Plans[*served]

	mu    sync.Mutex
	tasks map[dap.TaskID]*crowd
}

// explained says what to do about damage.
func explained(err error) error {
	if errors.Is(err, keep.ErrDamaged) {
		return fmt.Errorf("aggregator: %w: have the publishers withdraw its plans, and begin with a new database; never restore a backup of it, which would draw noise again (docs/incidents.md)", err)
	}
	if err != nil {
		return fmt.Errorf("aggregator: %w", err)
	}
	return nil
}

// New opens a service on its store and takes up what an earlier process left.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Store == nil || o.Keys == "" || o.Publishers == nil || o.Client == nil || o.Role != dap.Leader && o.Role != dap.Helper {
		return nil, errors.New("aggregator: a role, a store, a folder of keys, publishers and an HTTP client must be given")
	}
	o.Default(defaultRetention)
	o.Limits.Default()
	s := &Service{
		o: o, rates: o.Limits.Rates(), most: aggregator.MostReports,
		tasks: map[dap.TaskID]*crowd{},
	}
	shard := cmp.Or(o.Shard, shardReports)
	s.most = min(s.most, shard)
	s.shard = shard / s.most
	s.withdrawals = registry.NewWithdrawals(s.keepWithdrawal)
	s.plans = registry.NewPlans[*served](o.Common, o.Publishers, s.withdrawals, o.Limits.Plans)
	s.plans.Closes = over
	s.showFailed(o.Metrics.Meter)
	var err error
	if s.rows, err = rows.Open(ctx, o.Store, o.Blobs, s.Role(), o.Role == dap.Leader, o.Failpoint); err != nil {
		return nil, explained(err)
	}
	if o.Lease > 0 {
		if s.worker, err = newWorker(ctx, s); err != nil {
			return nil, explained(err)
		}
	}
	return s, explained(s.takeUp(ctx))
}

// Role returns the name of the service's role.
func (s *Service) Role() string {
	if s.o.Role == dap.Leader {
		return "leader"
	}
	return "helper"
}

// hop returns where its receipts and tokens place an aggregator: the leader at 0, the helper at 1.
func (s *Service) hop() uint8 { return uint8(s.o.Role - dap.Leader) }

// Run carries everything on until the context ends. What fails is tried again.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if s.worker != nil {
		beside.Go(func() { registry.Follow(ctx, s.o.Log, "aggregator", s.takeUp) })
		if s.o.Role == dap.Leader {
			beside.Go(func() { s.worker.run(ctx) })
		}
	}
	s.plans.Attend(ctx, func(p *served) { s.attend(ctx, p) })
}

// abreast takes up what other processes have taken, before this one decides on a plan.
func (s *Service) abreast(ctx context.Context) error {
	if s.worker == nil {
		return nil
	}
	return shelves.Answer(s.takeUp(ctx))
}

// Step does once what is due and returns what failed: Run for tests that keep their own
// time.
func (s *Service) Step(ctx context.Context) error {
	all, _ := s.plans.All()
	var errs []error
	for _, p := range all {
		errs = append(errs, s.advance(ctx, p))
	}
	return errors.Join(errs...)
}

// attend advances a plan whenever there may be something to do.
func (s *Service) attend(ctx context.Context, p *served) {
	const longest = 64 // polls between two attempts of what fails
	waits := 1
	for ctx.Err() == nil {
		if err := s.advance(ctx, p); err != nil {
			waits = min(2*waits, longest)
			if ctx.Err() == nil {
				s.o.Log.Warn("not done, will be tried again", "plan", p.name, "error", err.Error())
			}
		} else {
			waits = 1
		}
		if _, here := s.plans.Find(p.hash); !here {
			return
		}
		select {
		case <-ctx.Done():
		case <-p.woken:
		case <-time.After(time.Duration(waits) * poll):
		}
	}
}

// advance does what is due for a plan.
func (s *Service) advance(ctx context.Context, p *served) error {
	p.working.Lock()
	defer p.working.Unlock()
	err := s.due(ctx, p)
	p.note(err)
	return err
}

func (s *Service) due(ctx context.Context, p *served) error {
	signed, known := s.plans.Signed(p.hash)
	if _, here := s.plans.Find(p.hash); !here || !known {
		return nil
	}
	if s.plans.Over(signed) {
		if err := s.settled(ctx, p); err != nil {
			return err
		}
		return s.erase(ctx, p, nil)
	}
	if s.plans.Suspended(p.hash) != nil || s.o.Role != dap.Leader {
		return nil
	}
	return s.lead(ctx, p)
}
