package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/analyzer/analyzerd"
	"github.com/confetti-dp/confetti/internal/plain"
	"github.com/confetti-dp/confetti/internal/serve"
	"github.com/confetti-dp/confetti/internal/session"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// party is a service as the operator sees it.
type party struct {
	URL    string
	Roles  []string
	Up     bool
	Failed string
	Status *serve.Status
	Uptime string
	Facts  []serve.Fact
	Alarms []alarm
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

// lifeRow is a crowd at a hop.
type lifeRow struct {
	Where, Phase, About                      string
	Respondents, Dropped, Duplicates, Tokens int
}

// budget is what a population has spent, plan by plan.
type budget struct {
	Name   string
	Full   float64 // in [0, 1]
	Words  string
	Stacks []stack
}

// stack is one plan's part of the bar, in percent.
type stack struct {
	X, Width float64
	Shade    int
	Name     string
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
		Refreshed time.Time
	}{Deeds: c.audit.newest(), Backup: c.o.Backup != nil, Refreshed: c.o.Now()}
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
		body.Budgets = append(body.Budgets, c.budgets(r.Context(), p)...)
	}
	return c.render(w, r, http.StatusOK, "operator", sheet{Title: "Operator", At: "operator"}, body)
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
			all = append(all, service{party.URL, fmt.Sprintf("way %d, hop %d", k+1, h+1)})
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
				p.Failed = plain.Text(err.Error())
			} else {
				p.Up, p.Status, p.Facts, p.Uptime = true, &st, st.Facts, span(st.Now.Sub(st.Since))
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

// rowsOf is what a hop tells of a plan.
func rowsOf(p party, name string) (rows []lifeRow) {
	for _, t := range p.Status.Tables {
		text, err := json.Marshal(t.Data)
		var one hopStatus
		if err != nil || json.Unmarshal(text, &one) != nil || one.Plan != name {
			continue
		}
		for _, crowd := range one.Crowds {
			rows = append(rows, lifeRow{
				Where: fmt.Sprintf("way %d, hop %d, crowd %d", one.Instance+1, one.Hop+1, crowd.Crowd+1), Phase: crowd.Phase, About: crowd.About,
				Respondents: crowd.Respondents, Dropped: crowd.Dropped, Duplicates: crowd.Duplicates, Tokens: crowd.Tokens,
			})
		}
	}
	return rows
}

// budgets are those that an analyzer keeps: each plan a part of the bar, and after them as much
// as the last one took, which the next one like it would take.
func (c *Console) budgets(ctx context.Context, p party) (all []budget) {
	for _, g := range p.Status.Gauges {
		name, ok := strings.CutPrefix(g.Name, "budget of ")
		if !ok {
			continue
		}
		b := budget{Name: name, Full: g.Share, Words: g.Text}
		text, err := c.o.Operator.Get(ctx, p.URL+"/v1/budgets/"+url.PathEscape(name))
		var of analyzerd.Budget
		if err == nil && json.Unmarshal(text, &of) == nil && len(of.Plans) > 0 {
			sum := 0.0
			for _, s := range of.Plans {
				sum += s.Epsilon
			}
			at := 0.0
			for i, s := range of.Plans {
				width := 100 * g.Share * s.Epsilon / max(sum, 1e-300)
				b.Stacks = append(b.Stacks, stack{at, width, i % 6, s.Publisher})
				at += width
				if i == len(of.Plans)-1 {
					b.Stacks = append(b.Stacks, stack{at, min(width, 100-at), -1, "the next one like the last"})
				}
			}
		}
		all = append(all, b)
	}
	return all
}

// postAlarm says of an alarm that it was looked at.
func (c *Console) postAlarm(w http.ResponseWriter, r *http.Request, who session.Session) error {
	at, id := r.PostFormValue("url"), r.PostFormValue("alarm")
	if !c.knows(r.Context(), at) {
		return errNoPage // or the operator's token would go wherever a form says
	}
	body, err := json.Marshal(map[string]string{"alarm": id})
	if err == nil {
		_, _, err = c.o.Operator.Do(r.Context(), http.MethodPost, at+"/alarms", "application/json", body)
	}
	if err != nil {
		return err
	}
	c.audit.add(who.Name, fmt.Sprintf("acknowledged alarm %s of %s", id, at))
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// knows reports whether an address is that of a service which a plan names.
func (c *Console) knows(ctx context.Context, at string) bool {
	if at == c.o.Analyzer {
		return true
	}
	all, err := c.analyzer.list(ctx)
	if err != nil {
		return false
	}
	for _, p := range all {
		one, err := c.analyzer.plan(ctx, p.Plan)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(along(one.signed.Plan.Route), func(s service) bool { return s.url == at }) {
			return true
		}
	}
	return false
}

// postClose closes a collection, if the box beside the button was ticked.
func (c *Console) postClose(w http.ResponseWriter, r *http.Request, who session.Session) error {
	hash, err := wire.ParsePlanName(r.PathValue("plan"))
	if err != nil {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" {
		return &pageError{http.StatusBadRequest, "It was not confirmed, and nothing was done.", "Tick the box beside the button if you mean it."}
	}
	if err := c.closePlan(r.Context(), who, hash); err != nil {
		return err
	}
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// postBackup writes a copy of the analyzer's database.
func (c *Console) postBackup(w http.ResponseWriter, r *http.Request, who session.Session) error {
	if c.o.Backup == nil {
		return errNoPage
	}
	file, err := c.o.Backup(r.Context())
	if err != nil {
		c.audit.add(who.Name, "tried to back the analyzer up and could not")
		return err
	}
	c.audit.add(who.Name, "backed the analyzer up to "+file)
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}
