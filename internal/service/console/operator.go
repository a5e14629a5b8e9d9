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
	"github.com/confetti-dp/confetti/internal/service/session"
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

// postAlarm says of an alarm that it was looked at.
func (c *Console) postAlarm(w http.ResponseWriter, r *http.Request, who session.Session) error {
	at, id := r.PostFormValue("url"), r.PostFormValue("alarm")
	if !c.knows(r.Context(), at) {
		return errNoPage // or the operator's token would go wherever a form says
	}
	body, err := json.Marshal(map[string]string{"alarm": id})
	if err == nil {
		err = c.audit.add(who.Name, fmt.Sprintf("begins to acknowledge alarm %s of %s", id, at))
	}
	if err == nil {
		_, _, err = c.o.Operator.Do(r.Context(), http.MethodPost, at+"/alarms", "application/json", body)
	}
	if err != nil {
		return err
	}
	c.done(who.Name, fmt.Sprintf("acknowledged alarm %s of %s", id, at))
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
		return notSure
	}
	if err := c.closePlan(r.Context(), who, hash); err != nil {
		return err
	}
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// confirmation is a page that asks whether something is to be done; its form has it done.
type confirmation struct {
	Asked, About string
	To, Button   string
	Fields       map[string]string
}

func (c *Console) confirm(w http.ResponseWriter, r *http.Request, what confirmation) error {
	if _, ok := c.session(r); !ok {
		return errNoSession
	}
	return c.render(w, r, http.StatusOK, "confirm", sheet{Title: what.Asked, At: "operator", Trial: c.trial(r.Context())}, what)
}

// notSure refuses a form that did not come from a confirmation.
var notSure = &pageError{http.StatusBadRequest, "It was not confirmed, and nothing was done.", "Go back to the services, and confirm what you mean."}

// askBackup asks whether to write a backup.
func (c *Console) askBackup(w http.ResponseWriter, r *http.Request) error {
	if c.o.Backup == nil {
		return errNoPage
	}
	return c.confirm(w, r, confirmation{
		Asked: "Write a backup?", Button: "Write it", To: "/operator/backup",
		About: "A consistent copy of all plans, batches, releases and budgets, on the disk of this machine, while the analyzer runs. Private keys are not in it. Restored later, it has forgotten what was spent since.",
	})
}

// postBackup writes a copy of the analyzer's database.
func (c *Console) postBackup(w http.ResponseWriter, r *http.Request, who session.Session) error {
	if c.o.Backup == nil {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" {
		return notSure
	}
	if err := c.audit.add(who.Name, "begins to back the analyzer up"); err != nil {
		return err
	}
	file, err := c.o.Backup(r.Context())
	if err != nil {
		c.done(who.Name, "tried to back the analyzer up and could not")
		return err
	}
	c.done(who.Name, "backed the analyzer up to "+file)
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}

// askDrain asks whether a service is to drain, or to take work again.
func (c *Console) askDrain(w http.ResponseWriter, r *http.Request) error {
	at := r.FormValue("url")
	if _, ok := c.session(r); !ok || !c.knows(r.Context(), at) {
		return errNoPage
	}
	what := confirmation{
		Asked: "Drain this service?", Button: "Drain it", To: "/operator/drain", Fields: map[string]string{"url": at, "drain": "true"},
		About: at + " takes no new work then: no contributions, batches, plans or requests for tokens. Whoever sends it some is told to come back, and loses nothing. What is there it finishes. It works again when you let it, or when it is started anew.",
	}
	if r.FormValue("drain") == "false" {
		what.Asked, what.Button, what.Fields["drain"] = "Let this service take work again?", "Let it", "false"
		what.About = at + " takes contributions, batches, plans and requests for tokens again."
	}
	return c.confirm(w, r, what)
}

// postDrain has a service take no new work and finish what it has, or take work again.
func (c *Console) postDrain(w http.ResponseWriter, r *http.Request, who session.Session) error {
	at, drain := r.PostFormValue("url"), r.PostFormValue("drain")
	if !c.knows(r.Context(), at) {
		return errNoPage
	}
	if r.PostFormValue("sure") != "yes" || drain != "true" && drain != "false" {
		return notSure
	}
	did := map[string]string{"true": "drain: " + at, "false": "take work again: " + at}[drain]
	if err := c.audit.add(who.Name, "begins to have a service "+did); err != nil {
		return err
	}
	if _, _, err := c.o.Operator.Do(r.Context(), http.MethodPost, at+"/drain", "application/json", []byte(`{"drain": `+drain+`}`)); err != nil {
		c.done(who.Name, "could not have a service "+did)
		return err
	}
	c.done(who.Name, "had a service "+did)
	http.Redirect(w, r, "/operator", http.StatusSeeOther)
	return nil
}
