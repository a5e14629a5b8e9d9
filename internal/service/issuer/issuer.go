// Package issuer gives each respondent one single-use token for each hop of a plan that demands any. Used by
// cmd/internal/server/roles.
//
// It knows who asks and cannot know what it signs; hops see tokens and cannot know whose they are (package
// internal/token).
//
// That a respondent and a key's request were signed is on disk before the answer leaves, so that no crash gives
// anybody a second token. The same request again gets the same answer: a device that lost an answer asks again.
package issuer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/service/shelves"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// Options are what an issuer is made of. Folder, Keys, Publishers and one of
// Bearers, Certificates and Identity must be set.
type Options struct {
	// Common has among the rest Client, which asks hops how many tokens they have counted,
	// so that an older copy of the folder is found; Retention of marks, by default a day,
	// after which tokens can neither be had nor spent; and Failpoint, which is called
	// "before mark" and "after mark".
	serve.Common
	Folder     string            // on this machine's disk: where it keeps plans and marks, and what became of requests
	Store      keep.Store        // of plans and marks, which other processes share and whose owner the service becomes; nil: one in Folder
	Publishers *serve.Publishers // whose plans are served

	Bearers      *serve.Bearers
	Certificates bool                // of the authorities that the server's TLS knows
	Identity     identity.Identifier // nil: people are not told by it

	Limits serve.Visits
}

const (
	defaultRetention = 24 * time.Hour
	sweepEvery       = time.Minute // how late a plan may be forgotten
)

// Service is a running issuer. It is safe for concurrent use.
type Service struct {
	o         Options
	auth      serve.Authenticator
	decisions *decisions
	rates     *serve.Rates[serve.Respondent]
	issued    *metrics.Counter
	disk      *atomicfile.Disk
	store     keep.Store
	main      keep.Shelf

	withdrawals *registry.Withdrawals
	plans       *registry.Plans[*served]

	mu    sync.Mutex
	apart error // why what is over is not forgotten: hops have another time
}

// New opens an issuer on its folder, which it makes, and takes up what an
// earlier process left.
func New(o Options) (*Service, error) {
	if o.Folder == "" || o.Keys == "" || o.Publishers == nil || o.Bearers == nil && !o.Certificates && o.Identity == nil {
		return nil, errors.New("issuer: a folder, a folder of keys, publishers and a way to tell respondents apart must be given")
	}
	o.Default(defaultRetention)
	o.Limits.Default()
	issued := o.Metrics.Meter.Counter("tokens_issued", "Tokens signed, of plans whose crowds have public sizes.")
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	s := &Service{o: o, issued: issued, disk: atomicfile.WatchDisk(o.Folder), rates: o.Limits.Rates()}
	s.decisions = newDecisions(s.o.Now, o.Log)
	s.withdrawals = registry.NewWithdrawals(s.keepWithdrawal)
	s.plans = registry.NewPlans[*served](o.Common, o.Publishers, s.withdrawals, o.Limits.Plans)
	s.plans.Closes = closes
	var err error
	if s.store = o.Store; s.store == nil {
		if s.store, err = openStore(o); err != nil {
			return nil, err
		}
	}
	if err = s.begin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// begin takes up what is on the shelves. The secret that respondents are known by lies with them:
// under another one everybody would get a second token.
func (s *Service) begin() (err error) {
	ctx := context.Background()
	if s.main, err = shelves.Main(ctx, s.store, "issuer"); err != nil {
		return opening(err)
	}
	secret, err := s.main.Secret(ctx, "respondents")
	if err != nil {
		return opening(err)
	}
	s.auth = serve.Authenticator{Secret: serve.NewSecret(secret), Bearers: s.o.Bearers, Certificates: s.o.Certificates}
	if err := s.takeUp(ctx); err != nil {
		return err
	}
	for _, name := range s.orphans() {
		s.o.Log.Warn(orphaned, "shelf", name)
	}
	return s.compare()
}

// lostMarks is the step to take when it is not known any more who has a token.
const lostMarks = "put it back as it was; if it is lost, end the plan: have it withdrawn (docs/damaged-disks.md)"

const orphaned = "marks of issued tokens are here without their plan: register the plan again; if it is over, they are forgotten then"

// Close lets go of the shelves. No request may be under way.
func (s *Service) Close() error { return s.store.Close() }

// errNoKey is the error of a plan one of whose keys is not in the folder.
var errNoKey = errors.New("is not here")
