package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// party is a service as the operator sees it.
type party struct {
	URL    string
	Roles  []string
	Up     bool
	State  string // "up", "not ours", "failing", "down"
	Failed string
	Status *serve.Status
	Uptime string
	Facts  []serve.Fact
	Keys   []keyfile.Name
	Alarms []alarm

	Draining string // since when; empty: it takes work
}

// alarm is what a service wants looked at.
type alarm struct {
	ID, Text, Remedy, Seen string
	URL                    string
}

// remedies say what to do, by what alarms have in them; the first that fits counts.
var remedies = []struct{ has, remedy string }{
	{"is withheld", "Nothing can be done for this collection: too few answered, or its promise was found false. Ask again with a longer time or a lower minimum."},
	{"damaged on disk", "Look at the disk, and at docs/incidents.md, When a disk is damaged."},
	{"not ready", "Look at the service's log; it says what it waits for."},
	{"private key", "Bring the key's file to the service's folder of keys: it takes it up without a restart."},
	{"publishers", "Mend the file of publishers: what was read last counts until then."},
	{"clock", "Set the clocks of both machines, by NTP."},
	{"the certificate ends", "Have its files renewed: the service reads them again by itself, without a restart."},
	{"drains", "Stop the service when nothing waits there any more, or let it take work again, below."},
	{"full", "Make room on the disk; what was acknowledged is safe."},
	{"waits to be written up", "It is tried again by itself. If it lasts, the reason that it gives is to be mended."},
}

func remedy(text string) string {
	for _, r := range remedies {
		if strings.Contains(text, r.has) {
			return r.remedy
		}
	}
	return "docs/incidents.md says what to do, by what the alarm says."
}

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

// operator is the page of the services.
func (c *Console) operator(w http.ResponseWriter, r *http.Request) error {
	if _, ok := c.session(r); !ok && c.o.SignIn != nil {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return nil
	} else if !ok {
		return errNoSession
	}
	all, err := c.analyzer.list(r.Context())
	if err != nil {
		return err
	}
	body := struct {
		Parties   []party
		Alarms    []alarm
		Seen      []alarm
		Lives     []life
		Budgets   []budget
		Deeds     []deed
		Backup    bool
		Planned   string
		Refreshed time.Time
	}{Deeds: c.audit.newest(), Backup: c.o.Backup != nil, Planned: r.FormValue("planned"), Refreshed: c.o.Now()}
	planned := 0.0
	if body.Planned != "" {
		var err error
		if planned, err = strconv.ParseFloat(body.Planned, 64); err != nil || !(planned > 0 && planned <= 1e6) {
			return &pageError{http.StatusBadRequest, "The planned epsilon is a number above 0.", "Give it as 0.5, say."}
		}
	}
	roles := map[string][]string{}
	var urls []string
	add := func(url, role string) {
		if url == "" {
			return
		}
		if roles[url] == nil {
			urls = append(urls, url)
		}
		if !slices.Contains(roles[url], role) {
			roles[url] = append(roles[url], role)
		}
	}
	for _, p := range all[:min(len(all), kept/2)] {
		one, err := c.analyzer.plan(r.Context(), p.Plan)
		if err != nil {
			continue
		}
		for _, s := range along(one.signed.Plan.Route) {
			add(s.url, s.role)
		}
		body.Lives = append(body.Lives, life{Plan: p, Closing: closing(p, c.o.Now())})
	}
	add(c.o.Analyzer, "analyzer")
	body.Parties = c.parties(r.Context(), urls, roles)
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
	return c.render(w, r, http.StatusOK, "operator", sheet{Title: "Operator", At: "operator", Trial: c.trial(r.Context())}, body)
}

// service is one on the way of answers, or the issuer.
type service struct{ url, role string }

// along lists the services of a route: the issuer, if there is one, and then the hops, way by way.
func along(r plan.Route) (all []service) {
	if i := r.Issuer(); i != nil {
		all = append(all, service{i.URL, "issuer"})
	}
	for k, way := range r.Ways() {
		for h, party := range way {
			role := fmt.Sprintf("way %d, hop %d", k+1, h+1)
			if r.Sum != nil {
				role = []string{"leader", "helper"}[h]
			}
			all = append(all, service{party.URL, role})
		}
	}
	return all
}

// parties asks all services at once.
func (c *Console) parties(ctx context.Context, urls []string, roles map[string][]string) []party {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all := make([]party, len(urls))
	var asking sync.WaitGroup
	for i, url := range urls {
		asking.Go(func() {
			p := party{URL: url, Roles: roles[url]}
			text, err := c.o.Operator.Get(ctx, url+"/status.json")
			var st serve.Status
			if err == nil {
				err = json.Unmarshal(text, &st)
			}
			if err != nil {
				c.unread(ctx, &p, err)
			} else {
				p.State = "up"
				p.Up, p.Status, p.Facts, p.Keys, p.Uptime = true, &st, st.Facts, keysOf(st), span(st.Now.Sub(st.Since))
				if !st.Draining.IsZero() {
					p.Draining = moment(st.Draining)
				}
				for _, text := range st.Alarms {
					p.Alarms = append(p.Alarms, alarm{ID: serve.AlarmID(text), Text: text, Remedy: remedy(text), URL: url})
				}
				for _, a := range st.Acknowledged {
					p.Alarms = append(p.Alarms, alarm{ID: serve.AlarmID(a.Text), Text: a.Text, Seen: moment(a.At), URL: url})
				}
			}
			all[i] = p
		})
	}
	asking.Wait()
	return all
}

// unread says of a service why its status was not read. One that wants a token which is not here is
// another organisation's, and tells everybody whether it is ready; only one that cannot be reached is
// down.
func (c *Console) unread(ctx context.Context, p *party, err error) {
	problem, answered := errors.AsType[*wire.Problem](err)
	switch {
	case answered && problem.Code == wire.Unauthenticated:
		p.State = "not ours"
		ready := "ready"
		if _, err := c.o.Public.Get(ctx, p.URL+"/readyz"); err != nil {
			ready = "not ready"
			p.Alarms = append(p.Alarms, alarm{Text: "another organisation's service is not ready", Remedy: "Ask its operator: what it waits for is theirs to see.", URL: p.URL})
		}
		p.Facts = []serve.Fact{{Name: "says to everybody", Value: ready}}
	case answered:
		p.State, p.Failed = "failing", plain.Text(err.Error())
		p.Alarms = append(p.Alarms, alarm{Text: "a service does not tell its status", Remedy: "Look at the service's log.", URL: p.URL})
	default:
		p.State, p.Failed = "down", plain.Text(err.Error())
		p.Alarms = append(p.Alarms, alarm{Text: "a service cannot be reached", Remedy: "See whether it runs, and whether this machine reaches its address.", URL: p.URL})
	}
}

// keysOf are the keys that a service says it has.
func keysOf(st serve.Status) (all []keyfile.Name) {
	for _, t := range st.Tables {
		if t.Title != serve.KeysTitle {
			continue
		}
		text, err := json.Marshal(t.Data)
		if err != nil || json.Unmarshal(text, &all) != nil {
			return nil
		}
	}
	return all
}

// rowsOf is what a hop or an aggregator tells of a plan.
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
