package analyzerd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/storage/store"
	"github.com/confetti-dp/confetti/internal/wire"
)

// formatEvidence is that a release stands in the public log.
const formatEvidence = wire.EvidenceFile

// relog is how long an analyzer waits before it asks a log again that did not answer.
const relog = time.Minute

// logged is what the public log has said of releases. It is not on disk: after a start the
// log is asked again.
type logged struct {
	mu       sync.Mutex
	again    time.Time         // before which the log is not asked
	evidence map[string][]byte // by plan's name; empty where the log does not have the plan
}

// log puts the release of a plan into the public log, so that there can be no other one.
func (s *Service) log(ctx context.Context, p store.Plan) error {
	if s.o.PlanLog == "" || !p.Released || !s.logged.due(p.Name, s.o.Now()) {
		return nil
	}
	hash, err := wire.ParsePlanName(p.Name)
	if err != nil {
		return err
	}
	e, err := serve.PutReleaseIntoLog(ctx, s.o.Client, s.o.PlanLog, hash)
	var text []byte
	if problem, is := errors.AsType[*wire.Problem](err); is && problem.Code == wire.NotFound {
		err = nil // the plan was not put into it
	} else if err == nil {
		text = e.Marshal()
	}
	s.logged.keep(p.Name, text, err, s.o.Now())
	return err
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

// of is the evidence of a plan's release, if there is any.
func (l *logged) of(name string) (body []byte, digest [32]byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if body = l.evidence[name]; len(body) == 0 {
		err = store.ErrUnknown
	}
	return body, digest, err
}
