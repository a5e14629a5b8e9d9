package analyzerd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/progress"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/service/serve/metrics"
	"github.com/confetti-dp/confetti/plan"
)

// LogFact names what a status says of the public log that rounds and releases are put into: its address.
const LogFact = "public log"

// Status returns what the service shows its operator, for serve.Config.
func (s *Service) Status(ctx context.Context) *serve.Status {
	st := &serve.Status{}
	if err := s.fill(ctx, st); err != nil {
		st.Alarms = append(st.Alarms, err.Error())
	}
	return st
}

func (s *Service) fill(ctx context.Context, st *serve.Status) error {
	if err := s.o.Store.CheckLedger(ctx); err != nil {
		st.Alarms = append(st.Alarms, err.Error())
	}
	if err := s.rot(); err != nil {
		st.Alarms = append(st.Alarms, err.Error())
	}
	if err := s.o.Trust.Err(); err != nil {
		st.Alarms = append(st.Alarms, "publishers: what was read last counts: "+err.Error())
	}
	plans, err := s.o.Store.Plans(ctx)
	if err != nil {
		return err
	}
	table := serve.Table{Title: "Plans", Columns: []string{"plan", "title", "status", "closes", "batches", "respondents", "fragments dropped"}}
	counts, data := map[Status]int{}, []planData{}
	for _, p := range plans {
		d := s.describe(ctx, p)
		counts[d.Status]++
		// What was withheld long ago is no alarm any more: the table tells it for ever.
		if d.Status == Withheld && s.o.Now().Before(d.Decided.Add(s.o.Retention)) {
			st.Alarms = append(st.Alarms, fmt.Sprintf("plan %s is withheld: %s", plan.Short(d.Plan), d.Reason))
		}
		if d.Status == Released {
			text := d.Title
			if o, err := s.outline(ctx, p.Name); err == nil && o.round.Study != "" {
				text += fmt.Sprintf(", round %d", o.round.Number)
			}
			st.Links = append(st.Links, serve.Link{Text: text, Path: "/v1/releases/" + d.Plan + "." + formatHTML})
		}
		if p.Decided.IsZero() {
			if why := s.unserved(ctx, p.Name); why != "" {
				st.Alarms = append(st.Alarms, why)
			}
			due, err := s.due(ctx, p)
			if err == nil {
				err = s.differs(p.Name)
			}
			for _, why := range s.failed(p.Name) {
				st.Alarms = append(st.Alarms, fmt.Sprintf("plan %s: %s: have its publishers withdraw it (docs/incidents.md)", plan.Short(d.Plan), why))
			}
			if o, err := s.outline(ctx, p.Name); err == nil && s.o.Now().After(o.closes.Add(s.o.Grace)) {
				if waits, err := s.rowWaits(ctx, p.Name, o); err == nil && waits {
					st.Alarms = append(st.Alarms, fmt.Sprintf("plan %s waits for its row, without which the study does not go on: see whether both aggregators run", plan.Short(d.Plan)))
				}
			}
			if due && err != nil {
				st.Alarms = append(st.Alarms, fmt.Sprintf("plan %s waits to be written up: %s", plan.Short(d.Plan), err))
			}
		}
		batches, err := s.o.Store.Batches(ctx, p.Name)
		if err != nil {
			return err
		}
		one := s.planData(ctx, d, batches)
		data, table.Rows = append(data, one), append(table.Rows, one.row())
	}
	table.Data = data
	for _, status := range []Status{Open, Closed, Failed, Released, Withheld, Withdrawn} {
		st.Facts = append(st.Facts, serve.Fact{Name: "plans " + string(status), Value: strconv.Itoa(counts[status]), Data: counts[status]})
	}
	if s.o.PlanLog != "" {
		st.Facts = append(st.Facts, serve.Fact{Name: LogFact, Value: s.o.PlanLog, Data: s.o.PlanLog})
	}
	st.Tables = append(append(st.Tables, table), s.withdrawals.Table()...)
	for _, name := range slices.Sorted(maps.Keys(s.o.Populations)) {
		b, err := s.Budget(ctx, name)
		if err != nil {
			return err
		}
		st.Gauges = append(st.Gauges, serve.Gauge{
			Name:  "budget of " + name,
			Share: min(1, b.Shares.Box(), b.Shares.Sums()), // a plan fits while one of the two is not full
			Text: fmt.Sprintf("epsilon %.4g at delta %.3g in all (%s): %.3g %% of the shifts, %.3g %% of the tails, by %s; %s",
				b.Allowed.Epsilon, b.Allowed.Delta, b.Allowed.Adjacency, 100*b.Shares.Shift, 100*b.Shares.Tail, serve.Count(len(b.Plans), "plan", "plans"), b.Left("like the last")),
			Data: budgetData{b.Population, b.Allowed, b.Shares, b.More, len(b.Plans)},
		})
	}
	if n, err := s.shards.Kept(ctx); err != nil {
		st.Alarms = append(st.Alarms, err.Error())
	} else if s.o.Blobs != nil {
		st.Facts = append(st.Facts, serve.Fact{Name: "in parts", Value: fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)), Data: n})
	}
	return s.ofStudies(ctx, plans, st)
}

// budgetData is a population's gauge, for programs.
type budgetData struct {
	Population string         `json:"population"`
	Allowed    progress.Spent `json:"allowed"`
	Shares     account.Shares `json:"shares"`
	More       int            `json:"more_like_the_last"`
	Plans      int            `json:"plans"`
}

// planData is a plan's row, for programs.
type planData struct {
	Plan
	Batches     int `json:"batches"`
	Expected    int `json:"expected"` // batches, at most; 0 where the plan cannot be read
	Respondents int `json:"respondents"`
	Dropped     int `json:"dropped"` // fragments
}

func (s *Service) planData(ctx context.Context, d Plan, batches []rows.Batch) planData {
	p := planData{Plan: d, Batches: len(batches)}
	for _, b := range batches {
		p.Respondents += b.Respondents
		p.Dropped += b.Dropped
	}
	if o, err := s.outline(ctx, d.Plan); err == nil {
		p.Expected = o.crowds * o.instances
	}
	return p
}

func (p planData) row() []string {
	came := strconv.Itoa(p.Batches)
	if p.Expected > 0 {
		came = fmt.Sprintf("%d of %d", p.Batches, p.Expected)
	}
	closes := "when told"
	if !p.Closes.IsZero() {
		closes = p.Closes.UTC().Format(time.RFC3339)
	}
	return []string{plan.Short(p.Plan.Plan), p.Title, string(p.Status), closes, came, strconv.Itoa(p.Respondents), strconv.Itoa(p.Dropped)}
}

// meters count what the service does, of all plans together.
type meters struct{ batches, fragments, verdicts *metrics.Counter }

func newMeters(m *serve.Metrics) meters {
	return meters{
		batches:   m.Meter.Counter("analyzer_batches", "Batches that came, by what became of them.", "outcome"),
		fragments: m.Meter.Counter("analyzer_fragments", "Fragments of counted batches, by whether they were counted.", "outcome"),
		verdicts:  m.Meter.Counter("analyzer_verdicts", "Collections that were released or withheld.", "outcome"),
	}
}

func (m meters) batch(o rows.Outcome) {
	m.batches.Add(1, map[rows.Outcome]string{rows.Failed: "refused", rows.New: "counted", rows.Again: "again"}[o])
}

func (m meters) opened(counted, dropped int) {
	m.fragments.Add(counted, "counted")
	m.fragments.Add(dropped, "dropped")
}

func (m meters) decided(released bool) {
	m.verdicts.Add(1, map[bool]string{true: "released", false: "withheld"}[released])
}
