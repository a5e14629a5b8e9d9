// Package analyzerd runs the analyzer as a service: it registers plans against a budget, counts batches, and
// publishes a release or records why it may not. Used by cmd/internal/server/roles.
//
//	registered -> batches counted -> closed -> released or withheld
//
// Each arrow is one transaction. A process that is killed anywhere goes on where it was, and whoever sends again
// what was taken is told that it was.
package analyzerd

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/analyzer/shards"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/keep"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/bearer"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Options are what a service is made of. Store, Keys, Publishers, Populations and
// Operators must be set.
type Options struct {
	// Common has among the rest Client, which asks the last hops what they handed over, so
	// that an older copy of the database is found; Retention of tallies, receipts and marks
	// after a verdict, by default 30 days; and Failpoint, which is called at each of
	// Failpoints.
	serve.Common
	Store *rows.Store

	Publishers  []Publisher           // whose plans are taken
	Trust       *serve.Publishers     // of them: whose keys are good, and how many must have signed; nil: all are, and one
	Populations map[string]Population // by name
	Operators   *serve.Bearers        // who may register and close plans, and read budgets

	// Public finds data that costs no privacy and describes a plan's findings with
	// it; nil: none.
	Public func(plan.Plan) (results.Public, error)

	// Audit attacks the devices of a plan with its public state, nil where it has none, before its
	// release is published. An error, which says that its promise is false, withholds the release for
	// good; nil: no plan is attacked.
	Audit func(p plan.Plan, state []byte) ([]byte, error)

	// Blobs is where a batch of more than ShardBytes (0: 16 MiB) is dealt to shards that are
	// counted by this process and by workers; nil: a batch is counted in memory.
	Blobs      blob.Store
	ShardBytes int
	ShardLease time.Duration // for which a shard is its taker's alone; nobody prolongs it; 0 is 2 minutes
	// Elsewhere says that others count what is in Blobs, and leave tables there.
	Elsewhere bool

	Grace     time.Duration // from a plan's times.closes until its collection is closed; 0 is an hour
	BatchSize int64         // most bytes of one batch; 0 is 1 GiB
	Software  string        // name and version, for releases
	Collector bearer.Tokens // that leaders want of who fetches sums, each its own

	// Coordinator signs the rounds of studies that name it; nil: no study goes on here by
	// itself. Client brings them to the other services.
	Coordinator ed25519.PrivateKey

	// PlanLog is the address of a public log, into which rounds are put before anybody is given
	// them, and the releases of plans that it has; "": into none.
	PlanLog string
}

// Publisher is an author of plans. All its plans ask one population: who asks
// another, signs with another key.
type Publisher struct {
	Name       string
	Key        string // public key, as of plan.Publisher; "": all of Options.Trust that no other publisher has
	Population string
}

// Failpoints are the steps that Options.Failpoint is called at. Those of the
// store are called beside them if it is opened with the same function.
var Failpoints = []string{
	"batch-arrived", // whole, nothing done yet
	"batch-opened",  // counted in memory
	"closed",        // no batch is taken any more, no verdict yet
	"written-up",    // the verdict is in memory
}

// RoundFailpoints are those between the steps by which a study goes on.
var RoundFailpoints = []string{
	"round-made",       // in memory
	"round-written",    // with its state, and not registered
	"round-registered", // here, and not at the other services
	"round-announced",  // at all services, and not marked
}

const (
	defaultGrace     = time.Hour
	defaultRetention = 30 * 24 * time.Hour
	defaultBatchSize = 1 << 30
	poll             = time.Second // how late a collection may be closed
	collectFor       = time.Minute // how long a leader may take to give a sum
)

// Service is a running analyzer. It is safe for concurrent use.
type Service struct {
	o          Options
	publishers []string // their keys; "" for all others of Options.Trust
	opening    chan struct{}
	shards     *shards.Sharing
	concluding sync.Mutex

	registering turns // or withdrawing: one at a time
	prices      *prices
	outlays     outlays
	withdrawals *registry.Withdrawals

	meters meters

	outlining sync.Mutex // one plan at a time
	texts     texts

	mu       sync.Mutex
	running  map[string]*running          // by plan's name
	outlines map[string]outline           // likewise
	apart    map[string]error             // likewise: whose time differs from that of its hops
	hopeless map[string]map[uint32]string // likewise, and by crowd: why its sum is not asked for any more
	unheard  map[string]wire.Code         // likewise: why nothing of it ever comes, as the leader says
	logged   logged                       // what the public log has said of releases
	settled  map[string]bool              // by plan's name: nothing more follows it here
	gave     map[string]string            // by plan's name: the headline of the release of a round, as operators read it
	expired  time.Time                    // when old tallies were last looked for
	rotten   error                        // what the last check of the whole database found
}

// running is a plan whose batches are counted.
type running struct {
	signed   plan.Signed
	protocol *protocol.Protocol
	counter  *analyzer.Counter   // nil where answers are summed
	sums     *sums               // nil where they are mixed
	receipts [][]relay.VerifyKey // by instance and hop; the zero key where the plan names none
}

// New sets a service up on its store.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Keys == "" || len(o.Publishers) == 0 || o.Operators == nil {
		return nil, errors.New("analyzer: a store, a folder of keys, publishers and operators must be given")
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	o.Default(defaultRetention)
	o.ShardBytes, o.ShardLease = cmp.Or(o.ShardBytes, 16<<20), cmp.Or(o.ShardLease, 2*time.Minute)
	if o.BatchSize == 0 {
		o.BatchSize = defaultBatchSize
	}
	// One batch is opened at a time: it takes all cores, and its tally may be large.
	s := &Service{o: o, opening: make(chan struct{}, 1), registering: newTurns(), prices: newPrices(), outlays: outlays{of: map[string]*outlay{}}, running: map[string]*running{}, outlines: map[string]outline{}, apart: map[string]error{}, hopeless: map[string]map[uint32]string{}, unheard: map[string]wire.Code{}, settled: map[string]bool{}, gave: map[string]string{}, texts: texts{room: textRoom}}
	for _, p := range o.Publishers {
		population, known := o.Populations[p.Population]
		if !known {
			return nil, fmt.Errorf("analyzer: publisher %s asks the population %q, which has no budget: give it one", p.Name, p.Population)
		}
		if err := population.validate(); err != nil {
			return nil, fmt.Errorf("analyzer: population %q: %w", p.Population, err)
		}
		s.publishers = append(s.publishers, p.Key)
	}
	if s.o.Trust == nil && slices.Contains(s.publishers, "") {
		return nil, errors.New("analyzer: a publisher without a key needs a file of publishers")
	}
	if s.o.Trust == nil {
		s.o.Trust = serve.Trust(s.publishers...)
	}
	s.withdrawals = registry.NewWithdrawals(s.keepWithdrawal)
	if err := o.Store.Withdrawals(context.Background(), s.withdrawals.Restore); err != nil {
		return nil, err
	}
	s.meters = newMeters(o.Metrics)
	s.shards = &shards.Sharing{
		Store: o.Store, Blobs: o.Blobs, Bytes: o.ShardBytes, Lease: o.ShardLease, BatchSize: o.BatchSize, Alone: s.opening, Elsewhere: o.Elsewhere, Problem: storeProblem,
		Opened: s.meters.opened, Failpoint: o.Failpoint, Now: o.Now, Log: o.Log, Standing: s.standing,
		Find: func(ctx context.Context, name string) (shards.Plan, error) {
			run, err := s.run(ctx, name)
			if err != nil {
				return shards.Plan{}, err
			}
			return shards.Plan{Counter: run.counter, Protocol: run.protocol, BornOut: func(r []relay.SignedReceipt, head envelope.Head, digest [32]byte) error {
				return s.bornOut(run, r, head, digest)
			}}, nil
		},
	}
	if o.Blobs != nil && !o.Elsewhere {
		s.shards.Took = o.Metrics.Meter.Backlog("analyzer_shards", o.Store.Backlog)
	}
	s.showFailed(o.Metrics.Meter)
	return s, nil
}

// Work counts shards until the context ends: all that a worker does.
func (s *Service) Work(ctx context.Context) { s.shards.Work(ctx) }

// Routes returns the service's paths, for serve.Config.
func (s *Service) Routes() map[string]serve.Handler {
	return map[string]serve.Handler{
		wire.RegisterPattern: s.operators(s.register),
		wire.BatchPattern:    s.putBatch,
		wire.PartPattern:     s.putPart,
		wire.HeldPattern:     s.getHeld,
		wire.ClosePattern:    s.operators(s.postClose),
		wire.PlansPattern:    s.getPlans,
		wire.PlanPattern:     s.getPlan,
		wire.StatusPattern:   s.operators(s.getStatus),
		wire.ReleasesPattern: s.getReleases,
		wire.ReleasePattern:  s.getRelease,
		wire.BudgetPattern:   s.operators(s.getBudget),

		wire.StatePattern:     s.getState,
		wire.KeepStatePattern: s.operators(s.putState),
		wire.StudyPattern:     s.getStudy,

		wire.WithdrawPattern:   registry.TakeWith(s.Withdraw),
		wire.WithdrawalPattern: s.withdrawals.Show,
	}
}

// Ready reports why the service cannot work, for serve.Config.
func (s *Service) Ready(ctx context.Context) error { return s.o.Store.Ready(ctx) }

type operatorKey struct{}

// operators lets only those through whom the operator has given a token, and
// leaves the name with the request.
func (s *Service) operators(h serve.Handler) serve.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, ok := s.o.Operators.Sender(r)
		if !ok {
			return wire.Problemf(wire.Unauthenticated, "this path needs an operator's bearer token")
		}
		return h(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, name)))
	}
}

func operator(r *http.Request) string { return r.Context().Value(operatorKey{}).(string) }

// run finds a registered plan and what it takes to count its batches.
func (s *Service) run(ctx context.Context, name string) (*running, error) {
	s.mu.Lock()
	r, ok := s.running[name]
	s.mu.Unlock()
	if ok {
		return r, nil
	}
	p, err := s.o.Store.Plan(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := s.o.Store.Signed(ctx, name)
	if err != nil {
		return nil, err
	}
	signed, err := registered(name, text)
	if err != nil {
		return nil, err
	}
	if r, err = s.prepare(ctx, signed); err != nil {
		return nil, err
	}
	if p.Decided.IsZero() { // or nobody would let go of it
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running[name] = r
	}
	return r, nil
}

// registered reads a plan as the store has it. It is damaged unless it is what its name
// says, but for one of another version, which another build has written.
func registered(name string, text []byte) (plan.Signed, error) {
	signed, err := plan.ParseSigned(text)
	if _, other := errors.AsType[*plan.VersionError](err); other {
		return signed, fmt.Errorf("analyzer: plan %s, which was registered before: %w", name, err)
	}
	if err != nil {
		return signed, fmt.Errorf("analyzer: plan %s, which was registered before: %w: %w", name, keep.ErrDamaged, err)
	}
	if signed.Plan.Name() != name || signed.Verify(plan.Trust(signed.Signers()...)) != nil { // as it was when it came
		return signed, fmt.Errorf("analyzer: plan %s: %w: it is another one than its name says", name, keep.ErrDamaged)
	}
	return signed, nil
}

// prepare makes a plan runnable for its analyzer.
func (s *Service) prepare(ctx context.Context, signed plan.Signed) (*running, error) {
	r := &running{signed: signed}
	var err error
	if r.protocol, err = s.protocol(ctx, signed.Plan); err != nil {
		return nil, err
	}
	keys, unread := serve.OpeningKeys(s.o.Keys)
	key, ours := keys[signed.Plan.Analyzer.Key]
	if !ours {
		missing := errors.New("analyzer: the private key of the plan's analyzer is not here: another service has that part, or the key is missing from the folder of keys")
		return nil, errors.Join(missing, unread)
	}
	if signed.Plan.Route.Sum != nil {
		r.sums = &sums{key: key}
		r.sums.tasks, err = task.All(signed.Plan)
	} else {
		r.counter, err = analyzer.NewCounter(r.protocol, key)
	}
	if err != nil {
		return nil, err
	}
	r.receipts, err = relay.ReceiptKeys(signed.Plan)
	return r, err
}

// signer finds the private key that the plan names for its releases; the zero key for a
// plan of version 2, which names none. A worker, who publishes nothing, has no need of it.
func (s *Service) signer(p plan.Plan) (relay.SignKey, error) {
	if p.Analyzer.Releases == "" {
		return relay.SignKey{}, nil
	}
	keys, unread := serve.SigningKeys(s.o.Keys)
	key, ours := keys[p.Analyzer.Releases]
	if !ours {
		missing := errors.New("analyzer: the private key that signs the plan's releases is not in the folder of keys: see confetti keys new --for releases")
		return key, errors.Join(missing, unread)
	}
	return key, nil
}

// protocol makes a plan runnable, with its state where it names one.
func (s *Service) protocol(ctx context.Context, p plan.Plan) (*protocol.Protocol, error) {
	if p.State == "" {
		return protocol.New(p)
	}
	state, err := s.o.Store.State(ctx, p.State)
	if errors.Is(err, rows.ErrUnknown) {
		return nil, fmt.Errorf("analyzer: the plan names a state that is not here: bring it with PUT %s first", wire.StatePath([32]byte{}))
	}
	if err != nil {
		return nil, err
	}
	return protocol.WithState(p, state)
}

// forget lets go of what a closed plan needs in memory.
func (s *Service) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, name)
	delete(s.hopeless, name)
	delete(s.unheard, name)
}

// storeProblem returns what to answer where the store refuses; nil where it does not.
func storeProblem(err error) error {
	switch {
	case errors.Is(err, rows.ErrUnknown):
		return wire.Problemf(wire.UnknownPlan, "no such plan is registered here")
	case errors.Is(err, rows.ErrClosed):
		return wire.Problemf(wire.EpochOver, "the collection is closed: batches that come later are not counted")
	case errors.Is(err, rows.ErrTaken):
		return wire.Problemf(wire.BatchTaken, "another one was taken, and stays")
	case errors.Is(err, keep.ErrUnavailable):
		p := wire.Problemf(wire.Overloaded, "the database does not answer: come again, what was kept is known then")
		p.RetryAfter = wait
		return p
	case errors.Is(err, keep.ErrFull):
		return wire.Problemf(wire.StorageFull, "nothing was kept: %w", keep.ErrFull)
	}
	return err
}

// planName reads {plan}.
func planName(r *http.Request) (string, error) {
	hash, err := wire.PathPlan(r)
	return nameOf(hash), err
}

func nameOf(hash [32]byte) string { return fmt.Sprintf("%x", hash) }
