package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// known are the parties of a collection, for the plan of another one: what new.js fills its fields with, as a
// person would (studio.Parties).
type known struct {
	Title   string `json:"title"` // of the collection
	Route   string `json:"route"`
	Suite   string `json:"suite"`
	Parties struct {
		Way      []seat `json:"way"`
		Analyzer seat   `json:"analyzer"`
		Issuer   seat   `json:"issuer"`
	} `json:"parties"`
}

// seat is a party, with its address and its public keys, one a line.
type seat struct {
	Operator string `json:"operator"`
	Text     string `json:"text"`
}

func seatOf(p plan.Party) seat {
	lines := slices.DeleteFunc([]string{p.URL, p.Key, p.Receipts, p.Tokens, p.Releases}, func(s string) bool { return s == "" })
	return seat{p.Operator, strings.Join(lines, "\n")}
}

// mostKnown bounds the collections whose parties are looked at, the newest first.
const mostKnown = 8

// known returns who took part in collections of the analyzer, as their plans say. A key of tokens is of one
// plan alone, so that these are left out. An operator is told the newest keys that services have, and those of
// tokens that the issuer has made since. That one does not answer is no reason for no page.
func (c *Console) known(r *http.Request) []known {
	all := []known{}
	list, err := c.analyzer.list(r.Context())
	if err != nil {
		return all
	}
	_, operator := c.session(r)
	for _, p := range list[:min(len(list), mostKnown)] {
		one, err := c.analyzer.plan(r.Context(), p.Plan)
		if err != nil || len(one.signed.Plan.Route.Ways()) != 1 {
			continue
		}
		of := takingPart(one.signed.Plan)
		if operator {
			of.renew(c.keys(r.Context(), of.places()), p.Registered)
		}
		k := known{Title: p.Title, Route: one.signed.Plan.Route.Kind, Suite: of.suite}
		k.Parties.Analyzer, k.Parties.Issuer = seatOf(of.analyzer), seatOf(of.issuer)
		for _, party := range of.way {
			k.Parties.Way = append(k.Parties.Way, seatOf(party))
		}
		if !slices.ContainsFunc(all, func(o known) bool {
			return o.Route == k.Route && slices.Equal(o.Parties.Way, k.Parties.Way) && o.Parties.Analyzer == k.Parties.Analyzer
		}) {
			all = append(all, k)
		}
	}
	return all
}

// part is who takes part in a plan of one way.
type part struct {
	way              []plan.Party
	analyzer, issuer plan.Party
	suite            string
}

func takingPart(p plan.Plan) part {
	of := part{way: slices.Clone(p.Route.Ways()[0]), analyzer: p.Analyzer, suite: p.Envelopes.Suite}
	for i := range of.way {
		of.way[i].Tokens = ""
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		of.issuer = *issuer
	}
	return of
}

func (p part) places() (all places) {
	for _, one := range append(slices.Clone(p.way), p.analyzer, p.issuer) {
		all.add(one.URL, one.Operator, "")
	}
	return all
}

// keys returns those that services say they have, the newest first.
func (c *Console) keys(ctx context.Context, of places) map[string][]keyfile.Name {
	all := map[string][]keyfile.Name{}
	for _, p := range c.parties(ctx, of) {
		slices.SortStableFunc(p.Keys, func(a, b keyfile.Name) int { return b.Since.Compare(a.Since) })
		all[p.URL] = p.Keys
	}
	return all
}

// renew names the newest keys of each service, and on the way those of tokens that the issuer has made
// since then: one that is older another plan has.
func (p *part) renew(keys map[string][]keyfile.Name, since time.Time) {
	newest := func(url, suite, was string) string {
		i := slices.IndexFunc(keys[url], func(n keyfile.Name) bool { return n.Suite == suite })
		if i < 0 {
			return was
		}
		return cmp.Or(keys[url][i].Public, was)
	}
	var tokens []string
	for _, n := range slices.Backward(keys[p.issuer.URL]) { // the oldest is the first hop's
		if n.Suite == token.Suite && n.Since.After(since) && n.Public != "" {
			tokens = append(tokens, n.Public)
		}
	}
	for i := range p.way {
		one := &p.way[i]
		one.Key, one.Receipts = newest(one.URL, p.suite, one.Key), newest(one.URL, relay.SignSuite, one.Receipts)
		if i < len(tokens) {
			one.Tokens = tokens[i]
		}
	}
	p.analyzer.Key, p.analyzer.Releases = newest(p.analyzer.URL, p.suite, p.analyzer.Key), newest(p.analyzer.URL, relay.SignSuite, p.analyzer.Releases)
}
