// Package issuer gives each respondent one single-use token for each hop of a plan that demands any. Used by
// cmd/confetti/internal/roles.
//
// It knows who asks and cannot know what it signs; hops see tokens and cannot know whose they are (package
// internal/token).
//
// That a respondent and a key's request were signed is on disk before the answer leaves, so that no crash gives
// anybody a second token. The same request again gets the same answer: a device that lost an answer asks again.
package issuer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/issuer/identity"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// Options are what an issuer is made of. Folder, Keys, Publishers and one of
// Bearers, Certificates and Identity must be set.
type Options struct {
	// Common has among the rest Client, which asks hops how many tokens they have counted,
	// so that an older copy of the folder is found; Retention of marks, by default a day,
	// after which tokens can neither be had nor spent; and Failpoint, which is called
	// "before mark" and "after mark".
	serve.Common
	Folder     string            // where it keeps plans and marks, on this machine's disk
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
	o      Options
	auth   serve.Authenticator
	audit  *audit
	rates  *serve.Rates[serve.Respondent]
	issued *metrics.Counter
	disk   *atomicfile.Disk
	lock   *os.File

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
	s.audit = newAudit(s.o.Now, o.Log)
	s.withdrawals = registry.NewWithdrawals(s.keepWithdrawal)
	s.plans = registry.NewPlans[*served](o.Common, o.Publishers, s.withdrawals, o.Limits.Plans)
	s.plans.Closes = closes
	var err error
	if s.lock, err = atomicfile.Lock(o.Folder); errors.Is(err, atomicfile.ErrLocked) {
		return nil, fmt.Errorf("issuer: %w: two issuers with a log each would give a respondent two tokens; stop one, or give it a folder and keys of its own", err)
	} else if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	secret, err := s.openSecret()
	if err == nil {
		s.auth = serve.Authenticator{Secret: secret, Bearers: o.Bearers, Certificates: o.Certificates}
		err = s.takeUp()
	}
	if err == nil {
		err = s.compare()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openSecret reads the secret that respondents are known by, or draws one if
// nobody is known yet: under a new one everybody would get a second token.
func (s *Service) openSecret() (serve.Secret, error) {
	path := filepath.Join(s.o.Folder, "respondents.key")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if logs, err := filepath.Glob(filepath.Join(s.o.Folder, "*.log")); err != nil || len(logs) > 0 {
			return serve.Secret{}, errors.Join(err, fmt.Errorf("issuer: %s is missing, and without it nobody in the %d logs beside it would be known again: %s", path, len(logs), lostMarks))
		}
	}
	return serve.OpenSecret(rng.New(), path)
}

// lostMarks is the step to take when it is not known any more who has a token.
const lostMarks = "put it back as it was, and respondents.key with it; if it is lost, end the plan (docs/damaged-disks.md)"

const orphaned = "a log of issued tokens is here without its plan: register the plan again, or remove the log if the plan is over"

// Close lets go of the folder. No request may be under way.
func (s *Service) Close() error {
	var errs []error
	closed := map[*markLog]bool{} // rounds of a study share one
	for _, p := range s.sorted() {
		if !closed[p.log] {
			closed[p.log] = true
			errs = append(errs, p.log.close())
		}
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// errNoKey is the error of a plan one of whose keys is not in the folder.
var errNoKey = errors.New("is not here")
