package aggregated

import (
	"context"
	"fmt"
	"math/bits"
	"net/http"
	"slices"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/service/aggregated/rows"
	"github.com/confetti-dp/confetti/internal/service/registry"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/plan"
)

// visited and handed are those of an aggregator's paths that need a place among
// respondents', or services' that hand something over, for serve.Config.
var (
	visited = []string{dap.ReportsPattern}
	handed  = []string{dap.AggregationPattern, dap.SharesPattern}
)

// private are the paths that serve.Config must not count: the number of requests would be
// that of respondents, also of a crowd that is withheld, and show when each came.
var private = map[string]bool{dap.ReportsPattern: true}

// Routes returns the paths of an aggregator, for serve.Config.
func (s *Service) Routes() map[string]serve.Handler {
	routes := map[string]serve.Handler{
		dap.ConfigPattern: s.showConfig,

		wire.HeldPattern:       s.showHeld,
		wire.PlanPattern:       s.plans.Show,
		wire.RegisterPattern:   s.plans.Register(s.Load),
		wire.StatusPattern:     s.showStatus,
		wire.WithdrawPattern:   registry.TakeWith(s.Withdraw),
		wire.WithdrawalPattern: s.withdrawals.Show,
	}
	if s.o.Role == dap.Helper {
		routes[dap.AggregationPattern], routes[dap.SharesPattern] = s.putJob, s.putShare
		return routes
	}
	routes[dap.ReportsPattern], routes[dap.CollectionPattern] = s.putReport, s.collect
	if s.o.Operators != nil {
		routes[wire.ClosePattern] = s.o.Operators.Guard(s.closePlan)
	}
	return routes
}

// Ready says why nothing can be taken now.
func (s *Service) Ready(ctx context.Context) error {
	if s.o.Disk != nil {
		if err := s.o.Disk.Err(); err != nil {
			return fmt.Errorf("aggregator: %w", err)
		}
	}
	return s.rows.Ready(ctx)
}

// showConfig answers GET /hpke_config with the keys of the plans that are served: a device
// takes its plan's, and asks nobody.
func (s *Service) showConfig(w http.ResponseWriter, r *http.Request) error {
	all, _ := s.plans.All()
	var keys []dap.Key
	for _, p := range all {
		key, err := envelope.ParsePublicKey(p.own(s.o.Role).Key)
		if err != nil {
			return err
		}
		one := dap.KeyOf(key)
		if one.ID = byte(len(keys)); len(keys) == 0 { // every plan names one, and it is 0 there
			keys = append(keys, one)
		}
	}
	if keys == nil {
		return wire.Problemf(wire.UnknownPlan, "no plan is served, and keys are those of plans")
	}
	w.Header().Set("Content-Type", dap.ConfigType)
	_, err := w.Write(dap.MarshalConfig(keys))
	return err
}

// closePlan answers POST /v1/plans/{plan}/close to the operator: no more reports are taken.
func (s *Service) closePlan(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	p, err := s.plans.Standing(hash)
	if err != nil {
		return err
	}
	if err := s.close(r.Context(), p); err != nil {
		return err
	}
	p.retry()
	p.poke()
	return s.showStatus(w, r)
}

// collect answers POST /tasks/{task}/collection_jobs: both shares with their receipts, or
// 202 while they are not there yet, or Withheld.
func (s *Service) collect(w http.ResponseWriter, r *http.Request) error {
	if s.o.Collectors != nil {
		if _, ok := s.o.Collectors.Sender(r); !ok {
			return wire.Problemf(wire.Unauthenticated, "this path needs the bearer token of the plan's analyzer")
		}
	}
	c, err := s.pathTask(r, dap.CollectionType)
	if err != nil {
		return err
	}
	body, err := serve.ReadBody(w, r, 1<<10)
	if err != nil {
		return err
	}
	if _, err := dap.ParseCollection(body); err != nil {
		return wire.Problemf(wire.BadRequest, "%w", err)
	}
	if reason, err := c.of.kept.Share(r.Context(), c.number, rows.Withheld); err != nil || reason != nil {
		if err == nil {
			err = c.withheld(reason)
		}
		return err
	}
	receipts, both, err := c.collected(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set("Location", dap.CollectionPath(c.ID)+"/"+c.ID.String())
	if why := c.failed(); both == nil && why != "" {
		return wire.Problemf(wire.SumFailed, "%s", why)
	}
	if both == nil {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	w.Header().Set("Content-Type", dap.CollectionRespType)
	w.Header().Set(handover.ReceiptHeader, encodeReceipts(receipts))
	_, err = w.Write(both)
	return err
}

// showHeld answers which share left or came, and how many tokens were counted for it, as a hop
// does for its batch: an issuer or an aggregator that was put back on an older copy learns so
// from that.
func (s *Service) showHeld(w http.ResponseWriter, r *http.Request) error {
	leg, err := wire.PathLeg(r)
	if err != nil {
		return err
	}
	p, here := s.plans.Find(leg.Plan)
	if !here {
		return wire.Problemf(wire.UnknownPlan, "the plan that begins with %x", leg.Plan[:4])
	}
	var held handover.Held
	if leg.Instance == 0 && int64(leg.Crowd) < int64(len(p.crowds)) {
		if held, err = s.held(r.Context(), p.crowds[leg.Crowd], leg.Hop); err != nil {
			return err
		}
	}
	return serve.WriteJSON(w, held)
}

// Status is how an aggregator is getting on with a plan. It holds what anybody may know.
type Status struct {
	Plan    string        `json:"plan"`
	Title   string        `json:"title"`
	Role    string        `json:"role"`
	Closed  bool          `json:"closed"`
	Failing string        `json:"failing,omitempty"` // what was tried last and is tried again
	Crowds  []CrowdStatus `json:"crowds"`
}

// The phases of a crowd that are for good.
const (
	HandedOn = "handed on"
	withheld = "withheld"
)

// CrowdStatus is a Status's crowd.
type CrowdStatus struct {
	Crowd   int    `json:"crowd"`
	Phase   string `json:"phase"`             // "collecting", "adding", "handed on", "withheld", "failed"
	About   string `json:"about,omitempty"`   // collecting: "fewer than n_min", "at least N"
	Reports uint64 `json:"reports,omitempty"` // that are in the sum
	Refused uint64 `json:"refused,omitempty"` // that were not valid
	Failure string `json:"failure,omitempty"` // why the sum can never be had

	givenUp bool
}

// status returns a plan's.
func (s *Service) status(ctx context.Context, p *served) (Status, error) {
	st := Status{Plan: p.name, Title: p.plan.Title, Role: s.Role(), Failing: p.fails()}
	p.mu.Lock()
	st.Closed = p.closed
	p.mu.Unlock()
	known, err := p.kept.Crowds(ctx)
	if err != nil {
		return st, err
	}
	for _, c := range p.crowds {
		one, err := s.crowdStatus(ctx, c, st.Closed, known[c.number])
		if err != nil {
			return st, err
		}
		st.Crowds = append(st.Crowds, one)
	}
	return st, nil
}

func (s *Service) crowdStatus(ctx context.Context, c *crowd, closed bool, known rows.Crowd) (CrowdStatus, error) {
	st := CrowdStatus{Crowd: c.number, Failure: c.failed()}
	switch {
	case slices.Contains(known.Steps, rows.Withheld):
		st.Phase, st.givenUp = withheld, slices.Contains(known.Steps, rows.GivenUp)
	case slices.Contains(known.Steps, s.leaves()):
		st.Phase, st.Reports, st.Refused = HandedOn, known.Reports, known.Refused
	case st.Failure != "":
		st.Phase = unattainable
	case s.o.Role == dap.Leader && !closed:
		n, err := c.of.kept.Reports(ctx, c.number)
		st.Phase, st.About = "collecting", about(n, c.Minimum)
		return st, err
	default:
		st.Phase = "adding"
	}
	return st, nil
}

// leaves returns the step whose share leaves this aggregator; its own receipt stands first.
func (s *Service) leaves() string {
	if s.o.Role == dap.Leader {
		return rows.Both
	}
	return rows.Own
}

// about says roughly how many there are: so roughly that watching it does not show when
// somebody came.
func about(n, least int) string {
	if n < least {
		return fmt.Sprintf("fewer than %d", least)
	}
	return fmt.Sprintf("at least %d", max(least, 1<<(bits.Len(uint(n))-1)))
}

// showStatus answers with the status of a plan.
func (s *Service) showStatus(w http.ResponseWriter, r *http.Request) error {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return err
	}
	if err := s.withdrawals.Err(hash); err != nil {
		return err
	}
	p, here := s.plans.Find(hash)
	if !here {
		return wire.Problemf(wire.UnknownPlan, "the plan %s", plan.Short(fmt.Sprintf("%x", hash)))
	}
	st, err := s.status(r.Context(), p)
	if err != nil {
		return err
	}
	return serve.WriteJSON(w, []Status{st})
}

// Status returns the page of the service, for serve.Config.
func (s *Service) Status(ctx context.Context) *serve.Status {
	page := &serve.Status{Alarms: s.plans.Unserved()}
	all, _ := s.plans.All()
	var told missing
	for _, p := range all {
		st, err := s.status(ctx, p)
		told.add(p, st)
		where := plan.Short(p.name) + " " + s.Role()
		switch {
		case err != nil:
			page.Alarms = append(page.Alarms, where+": the database does not answer")
		case st.Failing != "":
			page.Alarms = append(page.Alarms, where+": "+st.Failing)
		}
		table := serve.Table{Title: where + ": " + st.Title, Columns: []string{"crowd", "phase", "reports", "refused"}, Data: st}
		for _, c := range st.Crowds {
			if c.Failure != "" {
				page.Alarms = append(page.Alarms, fmt.Sprintf("%s: the sum of crowd %d can never be had: %s: have the publishers withdraw the plan (docs/incidents.md)", where, c.Crowd+1, c.Failure))
			}
			row := []string{fmt.Sprint(c.Crowd + 1), c.Phase, c.About, ""}
			if c.Phase == HandedOn {
				row[2], row[3] = fmt.Sprint(c.Reports), fmt.Sprint(c.Refused)
			}
			table.Rows = append(table.Rows, row)
		}
		page.Tables = append(page.Tables, table)
	}
	page.Alarms = append(page.Alarms, told.alarms()...)
	page.Tables = append(page.Tables, s.withdrawals.Table()...)
	return page
}
