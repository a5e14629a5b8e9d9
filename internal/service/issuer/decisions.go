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

// The decisions of a plan, HASH.decisions in the folder, have a line of JSON for each request
// for tokens: the hour, a keyed hash of who asked, and what became of it. Whoever has the
// issuer's secret can ask of one person whether they are in it; nobody can read from it who is.
// The hash is another one for each plan, so that nobody can be followed from one to the next. Hours
// are written, not times: with times, whoever took the file could tell whose contribution
// an entry hop took when. They go with the plan's marks. A mark, and not a line here, is what keeps
// a respondent from a second token.
func (s *Service) decisionsPath(scope [32]byte) string {
	return filepath.Join(s.o.Folder, fmt.Sprintf("%x.decisions", scope))
}

// decision says what became of one request.
type decision struct {
	Hour       time.Time `json:"hour"`
	Respondent string    `json:"respondent,omitempty"` // none: it could not be told
	Outcome    string    `json:"outcome"`              // outcomeSigned, or a problem's code
	Unwritten  int       `json:"unwritten,omitempty"`  // requests of people who could not be told, or who asked too often, that were too many to write
}

const outcomeSigned = "signed"

// Requests of people who cannot be told are anybody's, and those of one who asks too often have no
// end: they must not fill a disk.
const (
	boundedPerSecond = 1
	boundedAtOnce    = 100
)

type decisions struct {
	now     func() time.Time
	log     *slog.Logger
	bounded *rate.Limiter

	mu        sync.Mutex
	unwritten int // since the last line
}

func newDecisions(now func() time.Time, log *slog.Logger) *decisions {
	return &decisions{now: now, log: log, bounded: rate.NewLimiter(boundedPerSecond, boundedAtOnce)}
}

// note writes what became of a request. who is nil where that could not be told. What
// cannot be written is logged: the request does not fail for it.
func (s *Service) note(p *served, who *serve.Respondent, err error) {
	if _, here := s.plans.Find(p.plan.Hash()); !here { // withdrawn meanwhile, and its files are gone
		return
	}
	line := decision{Outcome: outcomeSigned}
	if err != nil {
		line.Outcome = string(web.AsProblem(err).Code)
	}
	if who != nil {
		hash := s.auth.Secret.Respondent("decisions", append(who[:], p.scope[:]...))
		line.Respondent = hex.EncodeToString(hash[:16])
	}
	s.decisions.write(s.decisionsPath(p.scope), line)
}

func (d *decisions) write(path string, line decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if (line.Respondent == "" || line.Outcome == string(wire.RateLimited)) && !d.bounded.AllowN(now, 1) {
		d.unwritten++
		return
	}
	line.Hour, line.Unwritten = now.UTC().Truncate(time.Hour), d.unwritten
	if err := appendLine(path, line); err != nil {
		d.log.Error("what was decided cannot be written", "reason", err.Error())
		return
	}
	d.unwritten = 0
}

func appendLine(path string, line decision) error {
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
