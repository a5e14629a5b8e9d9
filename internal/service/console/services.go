package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/sanitize"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// Operator asks as an operator: it shows each service the token that is for it, and others none.
type Operator interface {
	Asker
	// Opens reports whether there is a token for the service that a URL leads to.
	Opens(url string) bool
}

// What a service is found to be. Down is one that no connection leads to, and no other: of what others run
// there is only what they tell everybody.
const (
	foundUp      = "up"
	foundNotOurs = "not ours"
	foundNoToken = "no token" // it is our operator's, and its token is not here
	foundFailing = "failing"  // it answers, and does not tell its status
	foundSilent  = "silent"   // it does not answer in time
	foundDown    = "down"
)

// roleLog is what a log does, which no plan names: the analyzer tells it.
const roleLog = "log"

// place is a service as plans name it.
type place struct {
	url, operator string
	roles         []string
}

// places lists services, each once, with all that it does.
type places []place

func (all *places) add(url, operator, role string) {
	if url == "" {
		return
	}
	i := slices.IndexFunc(*all, func(p place) bool { return p.url == url })
	if i < 0 {
		*all = append(*all, place{url: url, operator: operator})
		i = len(*all) - 1
	}
	if !slices.Contains((*all)[i].roles, role) {
		(*all)[i].roles = append((*all)[i].roles, role)
	}
}

// party is a service as the operator sees it.
type party struct {
	URL, Operator string
	Roles         []string
	Found         string // in a word
	Ready         bool   // it takes work, as far as it tells us
	Failed        string // why it tells nothing
	Status        *serve.Status
	Uptime        string
	Facts         []serve.Fact
	Keys          []keyfile.Name
	Alarms        []alarm

	Draining string // since when; empty: it takes work
}

// Up reports whether a service tells its status.
func (p party) Up() bool { return p.Found == foundUp }

// Theirs reports whether another organisation has a service.
func (p party) Theirs() bool { return p.Found == foundNotOurs }

// alarm is what a service wants looked at.
type alarm struct {
	ID, Text, Remedy, Seen string
	URL                    string
}

// remedies say what to do, by what alarms have in them; the first that fits counts.
var remedies = []struct{ has, remedy string }{
	{"is withheld", "Nothing can be done for this collection: too few answered, or its promise was found false. Ask again with a longer time or a lower minimum."},
	{"damaged on disk", "Look at the disk, and at docs/damaged-disks.md."},
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

// service is one on the way of answers, or the issuer.
type service struct{ url, operator, role string }

// along lists the services of a route: the issuer, if there is one, and then the hops, way by way.
func along(r plan.Route) (all []service) {
	if i := r.Issuer(); i != nil {
		all = append(all, service{i.URL, i.Operator, "issuer"})
	}
	for k, way := range r.Ways() {
		for h, party := range way {
			role := fmt.Sprintf("way %d, hop %d", k+1, h+1)
			if r.Sum != nil {
				role = []string{"leader", "helper"}[h]
			}
			all = append(all, service{party.URL, party.Operator, role})
		}
	}
	return all
}

// mostWait is how long services together have to answer.
const mostWait = 10 * time.Second

// parties asks all services at once.
func (c *Console) parties(ctx context.Context, of places) []party {
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	all := make([]party, len(of))
	var asking sync.WaitGroup
	for i, one := range of {
		asking.Go(func() {
			all[i] = party{URL: one.url, Operator: one.operator, Roles: one.roles}
			c.ask(ctx, &all[i])
		})
	}
	asking.Wait()
	ours := map[string]bool{}
	for _, p := range all {
		ours[p.Operator] = ours[p.Operator] || p.Operator != "" && c.o.Operator.Opens(p.URL)
	}
	for i, p := range all {
		if p.Theirs() && ours[p.Operator] {
			all[i].Found = foundNoToken
			all[i].Facts = append(p.Facts, serve.Fact{Name: "token", Value: "none is here: add its address and token to the file of tokens"})
		}
	}
	return all
}

// withLog asks the log, too, that the analyzer says it puts releases into.
func (c *Console) withLog(ctx context.Context, all []party) []party {
	var of places
	for _, p := range all {
		for _, f := range p.Facts {
			if at, is := f.Data.(string); is && f.Name == analyzerd.LogFact && slices.Contains(p.Roles, "analyzer") {
				of.add(strings.TrimSuffix(at, "/"), "named by the analyzer", roleLog)
			}
		}
	}
	if len(of) == 0 {
		return all
	}
	return append(all, c.parties(ctx, of)...)
}

// ask reads what a service tells its operator, or why it does not.
func (c *Console) ask(ctx context.Context, p *party) {
	text, err := c.o.Operator.Get(ctx, p.URL+"/status.json")
	var st serve.Status
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		c.unread(ctx, p, err)
		return
	}
	p.Found, p.Ready, p.Status, p.Facts, p.Keys, p.Uptime = foundUp, true, &st, st.Facts, keysOf(st), span(st.Now.Sub(st.Since))
	if !st.Draining.IsZero() {
		p.Draining = moment(st.Draining)
	}
	for _, text := range st.Alarms {
		p.Alarms = append(p.Alarms, alarm{ID: serve.AlarmID(text), Text: text, Remedy: remedy(text), URL: p.URL})
	}
	for _, a := range st.Acknowledged {
		p.Alarms = append(p.Alarms, alarm{ID: serve.AlarmID(a.Text), Text: a.Text, Seen: moment(a.At), URL: p.URL})
	}
}

// unread says of a service why its status was not read, and what to do. One that wants a token which is not
// here is another organisation's, and tells everybody whether it is ready.
func (c *Console) unread(ctx context.Context, p *party, err error) {
	who := "a service"
	wants := func(what, remedy string) {
		p.Alarms = append(p.Alarms, alarm{Text: who + " " + what, Remedy: remedy, URL: p.URL})
	}
	problem, answered := errors.AsType[*wire.Problem](err)
	refused := answered && problem.Code == wire.Unauthenticated
	if refused && !c.o.Operator.Opens(p.URL) {
		who, p.Found = "another organisation's service", foundNotOurs
		_, err = c.o.Public.Get(ctx, p.URL+"/readyz")
		if _, answered = errors.AsType[*wire.Problem](err); err == nil || answered {
			p.Ready = err == nil
			p.Facts = []serve.Fact{{Name: "says to everybody", Value: map[bool]string{true: "ready", false: "not ready"}[p.Ready]}}
			if !p.Ready {
				wants("is not ready", "Ask its operator: what it waits for is theirs to see.")
			}
			return
		}
		refused = false
	}
	p.Failed = sanitize.Text(err.Error())
	unreached, is := errors.AsType[*url.Error](err)
	switch {
	case is && unreached.Timeout():
		p.Found = foundSilent
		wants("does not answer", "See whether its machine is busy, and whether this machine reaches its address.")
	case is:
		p.Found = foundDown
		wants("cannot be reached", "See whether it runs, and whether this machine reaches its address.")
	case refused:
		p.Found = foundFailing
		wants("refuses its token", "Draw another one at the service, and put it into the file of tokens.")
	default:
		p.Found = foundFailing
		wants("does not tell its status", "Look at the service's log.")
	}
}

// keysOf returns the keys that a service says it has.
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
