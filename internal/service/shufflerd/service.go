// Package shufflerd runs a mixing hop as a service: it takes contributions and batches, keeps them on disk, and
// carries every crowd to the next hop. Used by cmd/internal/shuffler and cmd/internal/server/roles.
//
// Each crowd goes through
//
//	collecting -> closed -> (laid out in parts) -> mixed -> inbox purged -> forwarded -> outbox purged
//
// with a durable mark after each step, so that a process that is killed anywhere goes on where it was: nothing
// acknowledged is lost, and nothing leaves twice.
//
// A plan is one epoch. One service may be several hops of several plans: those whose private keys it finds. It
// cannot read what it mixes.
package shufflerd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/inbox"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/shufflerd/rows"
	"github.com/confetti-dp/confetti/internal/service/witness"
	"github.com/confetti-dp/confetti/internal/shuffler/mixer"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
)

// Options are what a service is made of. Store, Blobs, Keys, Publishers and Client must
// be set.
type Options struct {
	// Common has among the rest Client, which reaches the next hop and the analyzer;
	// Retention of receipts and marks and of what could not be delivered, by default 30
	// days; and Failpoint, which is called at each of Failpoints.
	serve.Common
	Store      keep.Store        // shelves of marks, keys and contributions
	Blobs      blob.Store        // where batches rest, and a crowd of more than PartBytes in parts
	MaxBytes   int64             // that both may hold; 0: what there is room for
	Folder     string            // of both, whose disk is watched; "": it is not one of this machine's
	Publishers *serve.Publishers // whose plans are served

	// How respondents are told apart, where the plan demands no single-use tokens
	// at the entry. Without either, only plans that do can be served at an entry.
	Bearers      *serve.Bearers
	Certificates bool // of the authorities that the server's TLS knows

	SetAside bool // go on without what is damaged on disk, for good

	PartBytes int // 0 is mixer.PartBytes
	// Share lets other processes work on Store and Blobs: services like this one, and workers,
	// for which the steps of crowds in parts lie on a shelf.
	Share     bool
	StepLease time.Duration // for which a step is its taker's alone, unless that says more; 0 is 30 seconds

	Operators *serve.Bearers // who may close an epoch early; nil: nobody

	Witness *witness.Witness // cosigns a public log of plans; nil: none

	Limits Limits
}

// Limits bound what peers can make a service do. Zeros are the defaults.
type Limits struct {
	serve.Visits
	Total float64 `toml:"total" or:"0.0" help:"Contributions a second from everybody; 0 is no limit."`
}

// Validate says what is wrong with limits that somebody has written down.
func (l Limits) Validate() error {
	if !serve.AtLeastZero(l.Total) {
		return errors.New("every limit is a number from 0 on")
	}
	return l.Visits.Validate()
}

const (
	defaultRetention = 30 * 24 * time.Hour
	poll             = time.Second // how late an epoch may end
)

// Service is a running mixing operator. It is safe for concurrent use.
type Service struct {
	o        Options
	rows     *rows.Store
	quota    *rows.Quota
	disk     *atomicfile.Disk // nil: not this machine's
	rates    *serve.Rates[serve.Respondent]
	total    *serve.Rates[struct{}] // nil: no limit
	meters   meters
	mixing   chan struct{} // held by whoever has crowds in memory
	together int           // the constant, but for tests
	worker   *worker       // nil: steps are not shared

	withdrawals *registry.Withdrawals
	plans       *registry.Plans[*served]
}

// New opens a service on its store and takes up what an earlier process left.
func New(ctx context.Context, o Options) (*Service, error) {
	if o.Store == nil || o.Blobs == nil || o.Keys == "" || o.Publishers == nil || o.Client == nil {
		return nil, errors.New("shuffler: a store, one of blobs, a folder of keys, publishers and an HTTP client must be given")
	}
	o.Default(defaultRetention)
	o.Limits.Default()
	o.PartBytes = cmp.Or(o.PartBytes, mixer.PartBytes)
	records, err := rows.Open(ctx, o.Store, o.SetAside)
	if err != nil {
		return nil, err
	}
	s := &Service{
		o: o, rows: records, meters: newMeters(o.Metrics), mixing: make(chan struct{}, 1), together: inbox.Together,
		rates: o.Limits.Rates(),
	}
	s.withdrawals = registry.NewWithdrawals(s.keepWithdrawal)
	s.plans = registry.NewPlans[*served](o.Common, o.Publishers, s.withdrawals, o.Limits.Plans)
	s.quota = rows.NewQuota(records, o.MaxBytes, s.inBlobs)
	if o.Folder != "" {
		s.disk = atomicfile.WatchDisk(o.Folder)
	}
	if o.Limits.Total > 0 {
		s.total = serve.NewRates[struct{}](o.Limits.Total, max(1, int(o.Limits.Total)), 1)
	}
	if o.Share {
		if s.worker, err = newWorker(ctx, s.o, records); err != nil {
			return nil, err
		}
	}
	if err := records.CheckBlobs(ctx, o.Blobs); err != nil {
		return nil, err
	}
	if err := s.takeUp(ctx); err != nil {
		return nil, err
	}
	return s, records.Reach(ctx)
}

// post finds what this operator is in a plan, or the problem to answer with.
func (s *Service) post(hash [32]byte, instance uint16, hop uint8) (*post, error) {
	p, err := s.plans.Standing(hash)
	if err != nil {
		return nil, err
	}
	for _, post := range p.posts {
		if post.instance == int(instance) && post.hop == int(hop) {
			return post, nil
		}
	}
	return nil, wire.Problemf(wire.WrongRole, "this operator is not hop %d of instance %d", hop+1, instance+1)
}

// posts lists all posts, in the order of plans' names.
func (s *Service) posts() (all []*post) {
	plans, _ := s.plans.All()
	for _, p := range plans {
		all = append(all, p.posts...)
	}
	slices.SortFunc(all, func(a, b *post) int { return slices.Compare([]byte(a.name), []byte(b.name)) })
	return all
}

// Close ends the epoch of a plan before its time, for good, in all instances
// whose entry this operator is. Run does the rest.
func (s *Service) Close(ctx context.Context, hash [32]byte) error {
	p, err := s.plans.Standing(hash)
	if err != nil {
		return err
	}
	for _, post := range p.posts {
		// Once it is closed, an epoch may be at work for long.
		if post.hop != 0 || post.entry.Mark().Closed {
			continue
		}
		post.working.Lock()
		err := post.entry.Close(ctx)
		post.working.Unlock()
		if err != nil {
			return err
		}
		post.poke()
	}
	return nil
}

// Run carries everything on until the context ends. What fails is tried again.
func (s *Service) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if s.worker != nil {
		beside.Go(func() { registry.Follow(ctx, s.o.Log, "hop", s.takeUp) })
	}
	s.plans.Attend(ctx, func(p *served) {
		var posts sync.WaitGroup
		for _, t := range p.posts {
			posts.Go(func() { t.run(ctx) })
		}
		posts.Wait()
	})
}

// Step does once what is due and returns what failed: Run for tests that keep
// their own time.
func (s *Service) Step(ctx context.Context) error {
	var errs []error
	for _, p := range s.posts() {
		err := p.advance(ctx)
		p.note(err)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
