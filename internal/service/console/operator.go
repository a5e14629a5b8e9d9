package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/plan"
)

// life is a collection as the operator sees it, crowd by crowd.
type life struct {
	analyzerd.Plan
	Closing string
	Rows    []lifeRow
}

// lifeRow is a crowd at a hop, or at an aggregator, where answers are the reports in the sum, and
// dropped those that were not valid.
type lifeRow struct {
	Where, Phase, About                      string
	Respondents, Dropped, Duplicates, Tokens int
}

// operator shows the page of the services.
func (c *Console) operator(w http.ResponseWriter, r *http.Request) error {
	if _, ok := c.session(r); !ok && c.o.SignIn != nil {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return nil
	} else if !ok {
		return errNoSession
	}
	all, err := c.analyzer.list(r.Context())
	if err != nil && !errors.Is(err, errSilent) {
		return err
	}
	body := struct {
		Map       chart
		Parties   []party
		Alarms    []alarm
		Seen      []alarm
		Lives     []life
		Budgets   []budget
		Deeds     []deed
		Backup    bool
		Planned   string
		Refreshed time.Time
	}{Deeds: c.deeds.newest(), Backup: c.o.Backup != nil, Planned: r.FormValue("planned"), Refreshed: c.o.Now()}
	planned := 0.0
	if body.Planned != "" {
		var err error
		if planned, err = strconv.ParseFloat(body.Planned, 64); err != nil || !(planned > 0 && planned <= 1e6) {
			return &pageError{http.StatusBadRequest, "The planned epsilon is a number above 0.", "Give it as 0.5, say."}
		}
	}
	var of places
	var plans []plan.Plan
	runs := "" // who runs the analyzer
	for _, p := range all[:min(len(all), kept/2)] {
		one, err := c.analyzer.plan(r.Context(), p.Plan)
		if err != nil {
			body.Alarms = append(body.Alarms, alarm{Text: fmt.Sprintf("a plan of the analyzer's cannot be read: %s", plan.Short(p.Plan)), Remedy: "Its services are looked at no more. Look at the log of the console, and at the analyzer.", URL: c.o.Analyzer})
			c.o.Log.Error("a plan cannot be read", "plan", p.Plan, "error", err)
			continue
		}
		for _, s := range along(one.signed.Plan.Route) {
			of.add(s.url, s.operator, s.role)
		}
		runs, plans = cmp.Or(runs, one.signed.Plan.Analyzer.Operator), append(plans, one.signed.Plan)
		body.Lives = append(body.Lives, life{Plan: p, Closing: closing(p, c.o.Now())})
	}
	of.add(c.o.Analyzer, runs, "analyzer")
	body.Parties = c.withLog(r.Context(), c.parties(r.Context(), of))
	body.Map = mapped(plans, body.Parties, c.o.Analyzer, all)
	for _, p := range body.Parties {
		for _, a := range p.Alarms {
			if a.Seen == "" {
				body.Alarms = append(body.Alarms, a)
			} else {
				body.Seen = append(body.Seen, a)
			}
		}
		if p.Status == nil {
			continue
		}
		for i := range body.Lives {
			body.Lives[i].Rows = append(body.Lives[i].Rows, rowsOf(p, body.Lives[i].Plan.Plan)...)
		}
		body.Budgets = append(body.Budgets, c.budgets(r.Context(), p, planned)...)
	}
	return c.render(w, r, http.StatusOK, "operator", sheet{Title: "Operator", At: "operator", Trial: c.trial(r.Context()), Wide: true}, body)
}

// rowsOf returns what a hop or an aggregator tells of a plan.
func rowsOf(p party, name string) (rows []lifeRow) {
	for _, t := range p.Status.Tables {
		text, err := json.Marshal(t.Data)
		var one hopStatus
		if err != nil || json.Unmarshal(text, &one) != nil || one.Plan != name {
			continue
		}
		where := fmt.Sprintf("way %d, hop %d", one.Instance+1, one.Hop+1)
		if one.Role != "" {
			where = one.Role
		}
		for _, crowd := range one.Crowds {
			rows = append(rows, lifeRow{
				Where: fmt.Sprintf("%s, crowd %d", where, crowd.Crowd+1), Phase: crowd.Phase, About: crowd.About,
				Respondents: crowd.Respondents + crowd.Reports, Dropped: crowd.Dropped + crowd.Refused, Duplicates: crowd.Duplicates, Tokens: crowd.Tokens,
			})
		}
	}
	return rows
}
