package analyzerd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
)

// formatEvidence is that a release stands in the public log.
const formatEvidence = relay.EvidenceFile

// relog is how long an analyzer waits before it asks a log again that did not answer.
const relog = time.Minute

// logged is what the public log has said of releases. It is not on disk: after a start the
// log is asked again.
type logged struct {
	mu       sync.Mutex
	again    time.Time         // before which the log is not asked
	evidence map[string][]byte // by plan's name, or that of its withdrawal; empty where there is none
}

// log puts the release of a plan into the public log, so that there can be no other one, and
// its withdrawal, so that everybody sees that.
func (s *Service) log(ctx context.Context, p rows.Plan) error {
	if s.o.PlanLog == "" {
		return nil
	}
	hash, err := wire.ParsePlanName(p.Name)
	if err != nil {
		return err
	}
	if p.Released {
		err = s.logOnce(p.Name, func() ([]byte, error) { return s.logRelease(ctx, p.Name, hash) })
	}
	if w, there := s.withdrawals.Find(hash); there {
		err = errors.Join(err, s.logOnce(p.Name+".withdrawal", func() ([]byte, error) {
			return nil, serve.PutWithdrawalIntoLog(ctx, s.o.Client, s.o.PlanLog, w)
		}))
	}
	return err
}

// logOnce has the log told of what goes by that name, once, and later again where it failed.
// A log that does not have the plan is told of nothing else.
func (s *Service) logOnce(name string, tell func() ([]byte, error)) error {
	if !s.logged.due(name, s.o.Now()) {
		return nil
	}
	text, err := tell()
	if problem, is := errors.AsType[*wire.Problem](err); is && problem.Code == wire.NotFound {
		err = nil
	}
	s.logged.keep(name, text, err, s.o.Now())
	return err
}

// logRelease puts a release into the log and returns the evidence; none of a plan that names
// nobody who signs its releases.
func (s *Service) logRelease(ctx context.Context, name string, hash [32]byte) ([]byte, error) {
	signature, _, err := s.o.Store.Release(ctx, name, formatSignature)
	if errors.Is(err, rows.ErrUnknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	receipts, _, err := s.o.Store.Release(ctx, name, formatReceipts)
	if err != nil {
		return nil, err
	}
	e, err := serve.PutReleaseIntoLog(ctx, s.o.Client, s.o.PlanLog, hash, signature, receipts)
	if err != nil {
		return nil, err
	}
	return e.Marshal(), nil
}

// due reports whether the log is to be asked about a plan.
func (l *logged) due(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.evidence[name]
	return !known && !now.Before(l.again)
}

// keep remembers what the log said, or that it said nothing.
func (l *logged) keep(name string, text []byte, err error, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.again = now.Add(relog)
		return
	}
	if l.evidence == nil {
		l.evidence = map[string][]byte{}
	}
	l.evidence[name] = text
}

// of returns the evidence of a plan's release, if there is any.
func (l *logged) of(name string) (body []byte, digest [32]byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if body = l.evidence[name]; len(body) == 0 {
		err = rows.ErrUnknown
	}
	return body, digest, err
}
