package issuer

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
)

// The audit log of a plan, HASH.audit in the folder, has a line of JSON for each request
// for tokens: the hour, a keyed hash of who asked, and what became of it. Whoever has the
// issuer's secret can ask of one person whether they are in it; nobody can read from it who is.
// The hash is another one for each plan, so that nobody can be followed from one to the next. Hours
// are written, not times: with times, whoever took the file could tell whose contribution
// an entry hop took when. It goes with the plan's marks. A mark, and not a line here, is what keeps
// a respondent from a second token.
func (s *Service) auditPath(scope [32]byte) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%x.audit", scope))
}

// auditLine is one decision.
type auditLine struct {
	Hour       time.Time `json:"hour"`
	Respondent string    `json:"respondent,omitempty"` // none: it could not be told
	Outcome    string    `json:"outcome"`              // auditSigned, or a problem's code
	Unwritten  int       `json:"unwritten,omitempty"`  // requests of people who could not be told, or who asked too often, that were too many to write
}

const auditSigned = "signed"

// Requests of people who cannot be told are anybody's, and those of one who asks too often have no
// end: they must not fill a disk.
const (
	boundedPerSecond = 1
	boundedAtOnce    = 100
)

type audit struct {
	now     func() time.Time
	log     *slog.Logger
	bounded *rate.Limiter

	mu        sync.Mutex
	unwritten int // since the last line
}

func newAudit(now func() time.Time, log *slog.Logger) *audit {
	return &audit{now: now, log: log, bounded: rate.NewLimiter(boundedPerSecond, boundedAtOnce)}
}

// note writes what became of a request. who is nil where that could not be told. What
// cannot be written is logged: the request does not fail for it.
func (s *Service) note(p *served, who *serve.Respondent, err error) {
	if _, here := s.plans.Find(p.plan.Hash()); !here { // withdrawn meanwhile, and its files are gone
		return
	}
	line := auditLine{Outcome: auditSigned}
	if err != nil {
		line.Outcome = string(web.AsProblem(err).Code)
	}
	if who != nil {
		hash := s.auth.Secret.Respondent("audit", append(who[:], p.scope[:]...))
		line.Respondent = hex.EncodeToString(hash[:16])
	}
	s.audit.write(s.auditPath(p.scope), line)
}

func (a *audit) write(path string, line auditLine) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if (line.Respondent == "" || line.Outcome == string(wire.RateLimited)) && !a.bounded.AllowN(now, 1) {
		a.unwritten++
		return
	}
	line.Hour, line.Unwritten = now.UTC().Truncate(time.Hour), a.unwritten
	if err := appendLine(path, line); err != nil {
		a.log.Error("the audit log cannot be written", "reason", err.Error())
		return
	}
	a.unwritten = 0
}

func appendLine(path string, line auditLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if _, err = file.Write(append(text, '\n')); err != nil {
		err = fmt.Errorf("issuer: %w", err)
	}
	if done := file.Close(); err == nil && done != nil {
		err = fmt.Errorf("issuer: %w", done)
	}
	return err
}
