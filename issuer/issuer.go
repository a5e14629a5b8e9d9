// Package issuer is the service that gives each respondent one single-use token
// for each hop of a plan that demands any. It knows who asks and cannot know what
// it signs; hops see tokens and cannot know whose they are (package internal/token).
//
// That a respondent and a key's request were signed is on disk before the answer
// leaves, so that no crash gives anybody a second token. The same request again
// gets the same answer: a device that lost an answer asks again.
package issuer

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/confetti-dp/confetti/internal/chain"
	"github.com/confetti-dp/confetti/internal/clock"
	"github.com/confetti-dp/confetti/internal/durable"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Options are what an issuer is made of. Folder, Keys, Publishers and one of
// Bearers and Certificates must be set.
type Options struct {
	Folder     string            // where it keeps plans and marks, on this machine's disk
	Keys       string            // folder of private keys of tokens; a plan's public keys pick them
	Publishers *serve.Publishers // whose plans are served

	Bearers      *serve.Bearers
	Certificates bool // of the authorities that the server's TLS knows

	// Retention is how long after a plan closes its marks are kept; 0 is a day.
	// After that its tokens can no longer be had, and no longer be spent.
	Retention time.Duration
	Limits    Limits

	// Client asks hops how many tokens they have counted, so that an older copy of the
	// folder is found; nil: nobody is asked.
	Client *http.Client

	Metrics *serve.Metrics   // nil: none
	Log     *slog.Logger     // nil: none
	Now     func() time.Time // nil: the system's clock

	// Clock says whether the time of day may be believed before something is done for
	// good because of it; nil: it always is.
	Clock *clock.Clock

	// Failpoint is called at each named step, in tests of crashes: "before mark",
	// "after mark". Its error ends the request as a crash would. nil: none.
	Failpoint func(name string) error
}

// Limits bound what peers can make an issuer do. Zeros are the defaults.
type Limits struct {
	Plans int     // served at once; 256
	Rate  float64 // requests a second that one respondent may make in the long run; 1
	Burst int     // that one respondent may make at once; 16
}

const (
	defaultRetention = 24 * time.Hour
	defaultPlans     = 256
	defaultRate      = 1
	defaultBurst     = 16
	rateKeys         = 1 << 16     // respondents whose rate is remembered
	sweepEvery       = time.Minute // how late a plan may be forgotten
)

// Service is a running issuer. It is safe for concurrent use.
type Service struct {
	o      Options
	auth   serve.Authenticator
	rates  *serve.Rates[serve.Respondent]
	issued metric.Int64Counter
	disk   *durable.Disk
	lock   *os.File

	withdrawals *serve.Withdrawals

	mu    sync.Mutex
	plans map[[32]byte]*served
	idle  map[[32]byte]idle // plans of an earlier process that cannot be served
	apart error             // why what is over is not forgotten: hops have another time
}

// idle is a plan that was served and cannot be now. Who has tokens is left alone.
type idle struct {
	signed plan.Signed
	why    string
}

// served is a plan with the keys that sign for it and what they have signed.
type served struct {
	signed plan.Signed
	text   []byte
	keys   map[hop]token.PrivateKey
	log    *markLog
}

type hop struct {
	instance uint16
	hop      uint8
}

// New opens an issuer on its folder, which it makes, and takes up what an
// earlier process left.
func New(o Options) (*Service, error) {
	if o.Folder == "" || o.Keys == "" || o.Publishers == nil || o.Bearers == nil && !o.Certificates {
		return nil, errors.New("issuer: a folder, a folder of keys, publishers and a way to tell respondents apart must be given")
	}
	o.Retention = cmp.Or(o.Retention, defaultRetention)
	o.Limits.Plans = cmp.Or(o.Limits.Plans, defaultPlans)
	o.Limits.Rate = cmp.Or(o.Limits.Rate, defaultRate)
	o.Limits.Burst = cmp.Or(o.Limits.Burst, defaultBurst)
	if o.Metrics == nil {
		o.Metrics = serve.NewMetrics()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Failpoint == nil {
		o.Failpoint = func(string) error { return nil }
	}
	issued, err := o.Metrics.Meter.Int64Counter("tokens_issued", metric.WithDescription("Tokens signed, of plans whose crowds have public sizes."))
	if err != nil {
		panic("issuer: " + err.Error()) // the name stands here
	}
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	s := &Service{o: o, issued: issued, disk: durable.WatchDisk(o.Folder), rates: serve.NewRates[serve.Respondent](o.Limits.Rate, o.Limits.Burst, rateKeys), plans: map[[32]byte]*served{}, idle: map[[32]byte]idle{}}
	s.withdrawals = serve.NewWithdrawals(s.keepWithdrawal)
	if s.lock, err = durable.Lock(o.Folder); errors.Is(err, durable.ErrLocked) {
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
const lostMarks = "put it back as it was, and respondents.key with it; if it is lost, end the plan (docs/operating.md, When a disk is damaged)"

// takeUp serves the plans that are in the folder.
func (s *Service) takeUp() error {
	if err := s.restoreWithdrawals(); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(s.o.Folder, "*.plan"))
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
		signed, err := plan.ParseSigned(text)
		if err == nil {
			// They did when it came: has the disk changed it?
			err = signed.Verify(plan.Trust(signed.Signers()...))
		}
		if err == nil && path != s.path(signed.Plan.Hash(), "plan") {
			err = errors.New("it is another plan than its name says")
		}
		if err != nil {
			return fmt.Errorf("issuer: %s is damaged: put it back as it was, or remove it and register the plan again: %w", path, err)
		}
		hash := signed.Plan.Hash()
		if _, withdrawn := s.withdrawals.Find(hash); withdrawn { // a crash came between
			if err := s.remove(hash); err != nil {
				return err
			}
			continue
		}
		err = s.add(signed, true)
		if errors.Is(err, errNoKey) {
			// A key that was taken away stops its plans, not the others.
			s.idle[hash] = idle{signed, wire.AsProblem(err).Detail}
			continue
		}
		if err != nil {
			return fmt.Errorf("issuer: %s, which was served before: %w", path, err)
		}
	}
	for _, path := range s.orphans() {
		s.o.Log.Warn(orphaned, "file", path)
	}
	return nil
}

const orphaned = "a log of issued tokens is here without its plan: register the plan again, or remove the log if the plan is over"

// orphans are the logs of plans that are not served.
func (s *Service) orphans() (paths []string) {
	all, _ := filepath.Glob(filepath.Join(s.o.Folder, "*.log"))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(all, func(path string) bool {
		hash, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(path), ".log"))
		return err != nil || len(hash) != 32 || s.plans[[32]byte(hash)] != nil || s.idle[[32]byte(hash)].why != ""
	})
}

// Close lets go of the folder. No request may be under way.
func (s *Service) Close() error {
	var errs []error
	for _, p := range s.plans {
		errs = append(errs, p.log.close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

// Load serves a plan from now on, restarts included. Loading it again is no
// error; with other signatures it goes on under those, if under the earlier ones it
// may not. A *wire.Problem says what is wrong with the plan.
func (s *Service) Load(signed plan.Signed) error {
	refused := func(format string, a ...any) error { return wire.Problemf(wire.PlanRefused, format, a...) }
	publishers := s.o.Publishers.Now()
	if err := signed.Verify(publishers); err != nil {
		return refused("%w", err)
	}
	hash := signed.Plan.Hash()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.withdrawals.Admit(context.Background(), hash, signed.Signers()); err != nil {
		return err
	}
	if there := s.plans[hash]; there != nil {
		if publishers.Stands(there.signed) == nil {
			return nil
		}
		if err := s.write(signed); err != nil {
			return err
		}
		again := *there // whoever has the earlier one goes on reading it
		again.signed, again.text = signed, signed.Marshal()
		s.plans[hash] = &again
		return nil
	}
	_, before := s.idle[hash]
	switch {
	case len(s.plans) >= s.o.Limits.Plans:
		return refused("%d plans are served already, the limit", s.o.Limits.Plans)
	case signed.Plan.Times.Closes.IsZero():
		return refused("a plan that is served needs times.closes: after it nothing is issued")
	case s.over(signed.Plan):
		return refused("the plan has closed too long ago")
	}
	if !before {
		if err := publishers.Admit(signed, s.o.Now()); err != nil {
			return refused("%w", err)
		}
	}
	if err := s.add(signed, before); err != nil {
		return err
	}
	// Last: a plan that is on disk can be served.
	if err := s.write(signed); err != nil {
		s.plans[hash].log.close()
		delete(s.plans, hash)
		return err
	}
	delete(s.idle, hash)
	return nil
}

// write makes a plan last with its signatures.
func (s *Service) write(signed plan.Signed) error {
	if err := durable.Replace(s.path(signed.Plan.Hash(), "plan"), signed.Marshal(), 0o600); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	return nil
}

func (s *Service) path(hash [32]byte, kind string) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%x.%s", hash, kind))
}

// over reports whether everything about a plan is due to be deleted.
func (s *Service) over(p plan.Plan) bool { return !s.o.Now().Before(p.Times.Closes.Add(s.o.Retention)) }

// errNoKey is the error of a plan one of whose keys is not in the folder.
var errNoKey = errors.New("is not here")

// add finds the plan's keys and opens its log, which is here if the plan was served
// before.
func (s *Service) add(signed plan.Signed, before bool) error {
	keys, err := readKeys(s.o.Keys)
	if err != nil {
		return err
	}
	p := &served{signed: signed, text: signed.Marshal(), keys: map[hop]token.PrivateKey{}}
	for i, in := range signed.Plan.Route.Mix.Instances {
		for h, party := range in.Hops {
			if party.Tokens == "" {
				continue
			}
			key, ours := keys[party.Tokens]
			if !ours {
				return wire.Problemf(wire.PlanRefused, "the private key of the tokens of instance %d, hop %d %w", i+1, h+1, errNoKey)
			}
			p.keys[hop{uint16(i), uint8(h)}] = key
		}
	}
	if len(p.keys) == 0 {
		return wire.Problemf(wire.PlanRefused, "no hop of it demands tokens")
	}
	hash := signed.Plan.Hash()
	marks := s.path(hash, "log")
	_, missing := os.Stat(marks)
	if missing != nil && before {
		return fmt.Errorf("issuer: %s is missing: %s", marks, lostMarks)
	}
	free, err := s.unclaimed(signed.Plan, missing == nil)
	if err != nil {
		return err
	}
	title := logTitle(signed.Plan.Name(), s.auth.Secret)
	// The log first: a plan whose keys are claimed has had one.
	if missing != nil {
		if err := chain.Create(marks, title); err != nil {
			return fmt.Errorf("issuer: %w", err)
		}
	}
	p.log, err = openLog(marks, s.path(hash, "end"), title, s.o.Log)
	if errors.Is(err, chain.ErrDamaged) || errors.Is(err, chain.ErrShort) {
		err = fmt.Errorf("%w; without it respondents could be given a second token: %s", err, lostMarks)
	}
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if err := claim(free, signed.Plan); err != nil {
		return errors.Join(err, p.log.close())
	}
	s.plans[hash] = p
	return nil
}

// readKeys reads the keys of tokens from a folder of key files (*.json), by the
// text form of their public ones. Keys of another use are passed over.
func readKeys(folder string) (map[string]token.PrivateKey, error) {
	files, err := keyfile.ReadFolder(folder)
	if err != nil {
		return nil, err
	}
	keys := map[string]token.PrivateKey{}
	for path, file := range files {
		if file.Suite != token.Suite {
			continue
		}
		key, _, err := token.ReadKeyFile(path)
		if err != nil {
			return nil, err
		}
		keys[file.PublicKey] = key
	}
	return keys, nil
}

// plan finds a plan whom its publishers stand for, or the problem to answer with.
func (s *Service) plan(hash [32]byte) (*served, error) {
	if err := s.withdrawals.Err(hash); err != nil {
		return nil, err
	}
	s.mu.Lock()
	p, left := s.plans[hash], s.idle[hash]
	s.mu.Unlock()
	switch {
	case left.why != "", p != nil && s.o.Publishers.Now().Stands(p.signed) != nil:
		return nil, serve.Suspended()
	case p == nil:
		return nil, wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", hash[:4])
	}
	return p, nil
}

// sorted is the plans that are served, by when they close.
func (s *Service) sorted() []*served {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*served
	for _, p := range s.plans {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *served) int {
		return cmp.Or(a.signed.Plan.Times.Closes.Compare(b.signed.Plan.Times.Closes), strings.Compare(a.signed.Plan.Name(), b.signed.Plan.Name()))
	})
	return all
}

// Run forgets plans whose retention is over, until the context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.Sweep(); err != nil {
			s.o.Log.Error("plans cannot be forgotten", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep forgets plans whose retention is over, once. Who had tokens of a plan is
// forgotten for good, so the plan's hops are asked for the time first.
func (s *Service) Sweep() error {
	var errs []error
	var apart error
	for _, p := range s.finished() {
		if err := s.agreed(p); err != nil {
			apart = err
			continue
		}
		errs = append(errs, s.forget(p.Hash()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apart = apart
	return errors.Join(errs...)
}

// finished are the plans whose retention is over, by a clock that runs evenly.
func (s *Service) finished() (all []plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(p plan.Plan) {
		if s.over(p) && s.o.Clock.Settled() == nil {
			all = append(all, p)
		}
	}
	for _, p := range s.plans {
		add(p.signed.Plan)
	}
	for _, p := range s.idle {
		add(p.signed.Plan)
	}
	return all
}

// agreed says why our time of day is not believed: all hops that answer have another.
func (s *Service) agreed(p plan.Plan) error {
	if s.o.Clock == nil || s.o.Client == nil {
		return nil
	}
	return clock.Asked(s.o.Now(), serve.AskTimes(context.Background(), s.o.Client, p.HopURLs()...))
}

func (s *Service) forget(hash [32]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if p := s.plans[hash]; p != nil {
		err = p.log.close()
	}
	delete(s.plans, hash)
	delete(s.idle, hash)
	return errors.Join(err, s.remove(hash))
}

// remove deletes the files of a plan. The files of its keys stay: they sign for no
// other plan, ever.
func (s *Service) remove(hash [32]byte) error {
	var errs []error
	// The plan first: without it the marks are nobody's, and no restart serves it.
	for _, kind := range []string{"plan", "log", "end"} {
		if err := os.Remove(s.path(hash, kind)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("issuer: %w", err))
		}
	}
	return errors.Join(errs...)
}
