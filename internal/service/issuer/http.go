package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// Routes returns the paths of an issuer, for serve.Config.
func (s *Service) Routes() map[string]serve.Handler {
	return map[string]serve.Handler{
		wire.TokensPattern:   s.issue,
		wire.PlanPattern:     s.plans.Show,
		wire.RegisterPattern: s.plans.Register(func(_ context.Context, signed plan.Signed) error { return s.Load(signed) }),

		wire.WithdrawPattern:   registry.TakeWith(s.Withdraw),
		wire.WithdrawalPattern: s.withdrawals.Show,
	}
}

// Private returns the routes that serve.Config must not count: the number of
// requests would be that of respondents. Where it is public it is counted here.
func (s *Service) Private() map[string]bool { return map[string]bool{wire.TokensPattern: true} }

// Ready says why nothing can be signed now.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.disk.Err(); err != nil {
		return fmt.Errorf("issuer: %w", err)
	}
	if _, _, err := s.main.Get(ctx, plansTable, "ready"); err != nil {
		return err
	}
	for _, p := range s.sorted() {
		if err := p.marks.healthy(); err != nil {
			return err
		}
	}
	if s.o.Bearers != nil {
		return s.o.Bearers.Err()
	}
	if s.o.Identity != nil {
		return s.o.Identity.Err()
	}
	return nil
}

// respondent tells whom the request is from, and by which kind of credential.
func (s *Service) respondent(r *http.Request, p *served) (serve.Respondent, error) {
	if s.o.Identity == nil {
		return s.auth.Respondent(r)
	}
	who, err := s.o.Identity.Identify(r, p.plan.Name())
	if err != nil {
		return serve.Respondent{}, err
	}
	return s.auth.Secret.Respondent(s.o.Identity.Kind(), who), nil
}

// issue signs a respondent's requests, all or none.
func (s *Service) issue(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	p, err := s.plans.Standing(hash)
	if err != nil {
		return err
	}
	if err := web.CheckType(r.Header.Get("Content-Type"), wire.TokenRequestType); err != nil {
		return err
	}
	if err := s.o.IsOpen(p.plan.Times, false); err != nil {
		return err
	}
	respondent, err := s.respondent(r, p)
	if err != nil {
		s.note(p, nil, err)
		return err
	}
	answer, err := s.asked(w, r, p, respondent)
	if s.note(p, &respondent, err); err != nil {
		return err
	}
	w.Header().Set("Content-Type", wire.TokenResponseType)
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write(answer.Marshal())
	return err
}

// asked reads a respondent's requests and signs them.
func (s *Service) asked(w http.ResponseWriter, r *http.Request, p *served, respondent serve.Respondent) (none tokenwire.Response, err error) {
	if err := s.rates.Allow(respondent); err != nil {
		return none, err
	}
	if err := serve.Enter(r, respondent); err != nil {
		return none, err
	}
	body, err := serve.ReadBody(w, r, tokenwire.MaxBody)
	if err != nil {
		return none, err
	}
	request, err := tokenwire.ParseRequest(body)
	if err != nil {
		return none, wire.Problemf(wire.BadRequest, "%w", err)
	}
	return s.sign(r.Context(), p, respondent, request)
}

// full says that somebody new is one too many. Of as many respondents as the plan lets
// count in all crowds of all instances each may ask for a token of every hop; more would
// let an entry hop bring together more than its plan allows, whatever it says.
func (p *served) full(all []mark) bool {
	most := p.plan.Crowd.Maximum
	if most == 0 {
		return false
	}
	fresh, err := p.marks.fresh(all)
	n, in := p.marks.count(), len(p.plan.Route.Ways())
	return err == nil && len(fresh) > 0 && float64(n) >= float64(most)*float64(p.plan.Crowds())*float64(in)*float64(len(p.keys))
}

func (s *Service) sign(ctx context.Context, p *served, respondent serve.Respondent, request tokenwire.Request) (tokenwire.Response, error) {
	marks := make([]mark, len(request.Asks))
	for i, a := range request.Asks {
		if _, demanded := p.keys[hop{a.Instance, a.Hop}]; !demanded {
			return tokenwire.Response{}, wire.Problemf(wire.BadRequest, "ask %d: the plan demands no token there", i)
		}
		marks[i] = s.mark(p, respondent, a)
	}
	if p.full(marks) {
		return tokenwire.Response{}, wire.Problemf(wire.EpochOver, "as many respondents have tokens as the plan lets count")
	}
	if _, err := p.marks.fresh(marks); errors.Is(err, errTaken) { // before any work
		return tokenwire.Response{}, wire.Problemf(wire.TokenIssued, "one of the %d requests differs from what was signed before", len(marks))
	}
	// Signed before it is marked, so that a request that cannot be signed does
	// not use up the respondent's turn.
	answers, err := signAll(p, request)
	if err != nil {
		return tokenwire.Response{}, err
	}
	if err := s.o.Failpoint("before mark"); err != nil {
		return tokenwire.Response{}, err
	}
	fresh, err := p.marks.put(marks)
	if errors.Is(err, errTaken) {
		return tokenwire.Response{}, wire.Problemf(wire.TokenIssued, "one of the %d requests differs from what was signed before", len(marks))
	}
	if err != nil {
		return tokenwire.Response{}, err
	}
	if err := s.o.Failpoint("after mark"); err != nil {
		return tokenwire.Response{}, err
	}
	if p.plan.Crowd.Deletion == nil {
		s.issued.Add(fresh)
	}
	return tokenwire.Response{Answers: answers}, nil
}

// mark returns the respondent under the key that signs, and the request, in hashes
// that only this issuer can make: half of one is enough where nobody can search
// for two alike.
func (s *Service) mark(p *served, respondent serve.Respondent, a tokenwire.Ask) mark {
	key := p.plan.Route.Ways()[a.Instance][a.Hop].Tokens
	who := s.auth.Secret.Respondent("issued", append(respondent[:], key...))
	what := s.auth.Secret.Respondent("request", a.Blinded)
	return mark{[16]byte(who[:16]), [16]byte(what[:16])}
}

// signAll signs on all processors.
func signAll(p *served, request tokenwire.Request) ([][]byte, error) {
	answers, errs := make([][]byte, len(request.Asks)), make([]error, len(request.Asks))
	workers := min(runtime.GOMAXPROCS(0), len(request.Asks))
	var wg sync.WaitGroup
	for first := range workers {
		wg.Go(func() {
			for i := first; i < len(request.Asks); i += workers {
				a := request.Asks[i]
				answers[i], errs[i] = p.keys[hop{a.Instance, a.Hop}].Sign(a.Blinded)
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, wire.Problemf(wire.BadRequest, "ask %d: %w", i, err)
		}
	}
	return answers, nil
}

// planData is a plan's row of the status, for programs.
type planData struct {
	Plan   string    `json:"plan"`
	Title  string    `json:"title"`
	Closes time.Time `json:"closes"`
	Hops   int       `json:"hops"`
	Issued *int      `json:"tokens_issued,omitempty"` // none where it is private
}

// Status returns the page of the service, for serve.Config.
func (s *Service) Status(context.Context) *serve.Status {
	table := serve.Table{Title: "Plans", Columns: []string{"plan", "title", "closes", "hops", "tokens issued"}}
	var data []planData
	for _, p := range s.sorted() {
		issued, one := "private", planData{Plan: p.plan.Name(), Title: p.plan.Title, Closes: p.plan.Times.Closes, Hops: len(p.keys)}
		if p.plan.Crowd.Deletion == nil {
			n := p.marks.count()
			issued, one.Issued = fmt.Sprint(n), &n
		}
		pl := p.plan
		table.Rows = append(table.Rows, []string{plan.Short(pl.Name()), pl.Title, pl.Times.Closes.UTC().Format(time.RFC3339), fmt.Sprint(len(p.keys)), issued})
		data = append(data, one)
	}
	table.Data = data
	status := &serve.Status{Tables: append([]serve.Table{table}, s.withdrawals.Table()...), Alarms: s.unserved()}
	for _, name := range s.orphans() {
		status.Alarms = append(status.Alarms, name+": "+orphaned)
	}
	return status
}
