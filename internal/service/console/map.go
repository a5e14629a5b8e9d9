package console

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/plan"
)

// chart is the services as they stand on the way of answers: from devices on the left, along the ways of all
// plans, to the analyzer on the right. Issuer and log stand beside the way.
type chart struct {
	Open          int // collections
	Lanes         []lane
	Issuers, Logs []box
	Analyzer      box
	More          int // ways that are not drawn
}

// lane is one way: what leads to each box, and to the analyzer.
type lane struct {
	Steps []step
	Last  string
}

type step struct {
	Edge string
	Box  box
}

// box is a service in few words, a line each.
type box struct {
	Name, URL, Owner string
	Status, Mark     string // in a word, and how it is marked: "good", "look", "bad"
	Theirs           bool
	Lines            []string // backlog, certificate, disk, as far as it tells them
}

// mostLanes bounds the ways that are drawn: the screen of an operator has no more room.
const mostLanes = 4

// mapped puts services on the map, those of the newest plans first.
func mapped(plans []plan.Plan, all []party, analyzer string, list []analyzerd.Plan) chart {
	find := func(name, url string) box {
		i := slices.IndexFunc(all, func(p party) bool { return p.URL == url })
		if i < 0 {
			return box{Name: name, URL: url, Status: "no address", Mark: "look"}
		}
		return boxed(name, all[i])
	}
	c := chart{Analyzer: find("Analyzer", analyzer)}
	counts := map[analyzerd.Status]int{}
	for _, p := range list {
		counts[p.Standing()]++
	}
	c.Open = counts[analyzerd.Open]
	c.Analyzer.Lines = append(c.Analyzer.Lines, fmt.Sprintf("%d collecting, %d counting", c.Open, counts[analyzerd.Closed]), fmt.Sprintf("%d published, %d withheld", counts[analyzerd.Released], counts[analyzerd.Withheld]))
	seen := map[string]bool{}
	for _, p := range plans {
		for _, way := range p.Route.Ways() {
			var l lane
			key := p.Route.Kind
			for h, party := range way {
				key += " " + party.URL
				name, edge := fmt.Sprintf("Hop %d", h+1), mixed(h)
				if p.Route.Sum != nil {
					name, edge = []string{"Leader", "Helper"}[h], []string{"shares", "verified by both"}[h]
				}
				l.Steps = append(l.Steps, step{edge, find(name, party.URL)})
			}
			if l.Last = mixed(len(way)); p.Route.Sum != nil {
				l.Last = "sums"
			}
			switch {
			case seen[key]:
			case len(c.Lanes) == mostLanes:
				c.More++
			default:
				c.Lanes = append(c.Lanes, l)
			}
			seen[key] = true
		}
		if i := p.Route.Issuer(); i != nil && i.URL != "" && !seen[i.URL] && len(c.Issuers) == 0 {
			seen[i.URL] = true
			c.Issuers = append(c.Issuers, find("Issuer", i.URL))
		}
	}
	for _, p := range all {
		if slices.Contains(p.Roles, roleLog) {
			c.Logs = append(c.Logs, boxed("Log", p))
		}
	}
	return c
}

// mixed says how often answers were mixed.
func mixed(times int) string {
	switch times {
	case 0:
		return "sealed"
	case 1:
		return "mixed once"
	case 2:
		return "mixed twice"
	}
	return fmt.Sprintf("mixed %d times", times)
}

// boxed returns a service in few words.
func boxed(name string, p party) box {
	b := box{Name: name, URL: p.URL, Owner: p.Operator, Status: p.Found, Mark: "bad", Theirs: p.Theirs()}
	wants := slices.ContainsFunc(p.Alarms, func(a alarm) bool { return a.Seen == "" })
	switch {
	case p.Draining != "":
		b.Status, b.Mark = "drains", "look"
	case p.Up() && wants:
		b.Status, b.Mark = "look", "look"
	case p.Up():
		b.Status, b.Mark = "up", "good"
	case p.Found == foundNotOurs && p.Ready:
		b.Status, b.Mark = "ready", "good"
	case p.Found == foundNotOurs:
		b.Status, b.Mark = "not ready", "look"
	case p.Found == foundNoToken:
		b.Mark = "look"
	}
	if p.Status == nil {
		return b
	}
	tells := map[string]string{}
	for _, f := range p.Facts {
		switch f.Name {
		case "backlog":
			tells["backlog"] = f.Value
		case "entries":
			tells["backlog"] = f.Value + " entries"
		case "certificate":
			tells["certificate"] = lifetime(f, p.Status.Now)
		case "free disk":
			tells["disk"] = f.Value + " free"
		}
	}
	for _, name := range []string{"backlog", "certificate", "disk"} {
		if tells[name] != "" {
			b.Lines = append(b.Lines, tells[name])
		}
	}
	return b
}

// lifetime says how long a certificate is good still.
func lifetime(f serve.Fact, now time.Time) string {
	var end time.Time
	if text, err := json.Marshal(f.Data); err != nil || json.Unmarshal(text, &end) != nil || end.IsZero() {
		return "certificate " + f.Value
	}
	if !now.Before(end) {
		return "certificate over"
	}
	return "certificate for " + span(end.Sub(now))
}
