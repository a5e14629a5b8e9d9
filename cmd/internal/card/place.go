package card

import (
	"errors"
	"fmt"
	"strings"

	"github.com/confetti-dp/confetti/plan"
)

// Check refuses cards that do not make a plan of that kind of route: a role that is missing, that
// two cards have, or that the route has not; and one key on two cards.
func Check(route string, cards []Card) error {
	least := map[string]int{Shuffler: 1, Analyzer: 1}
	if route == plan.RouteSum {
		least = map[string]int{Leader: 1, Helper: 1, Analyzer: 1}
	}
	var errs []error
	of, held := map[string][]string{}, map[string]string{}
	for _, c := range cards {
		if _, has := least[c.Role]; !has && c.Role != Issuer {
			errs = append(errs, fmt.Errorf("%s is the card of %s, and a plan of route %s names none", c.File, withArticle(c.Role), route))
			continue
		}
		of[c.Role] = append(of[c.Role], c.File)
		for _, key := range []string{c.Signs, c.Opens} {
			if key == "" {
				continue
			}
			if held[key] != "" {
				errs = append(errs, fmt.Errorf("%s and %s have one key: each party needs keys of its own, and each card is named once", held[key], c.File))
				break
			}
			held[key] = c.File
		}
	}
	for _, role := range roles {
		switch n := len(of[role]); {
		case n < least[role]:
			errs = append(errs, fmt.Errorf("no card is of %s, and a plan of route %s needs one", withArticle(role), route))
		case n > 1 && role != Shuffler:
			errs = append(errs, fmt.Errorf("%s are cards of %s each, and a plan has one", strings.Join(of[role], " and "), withArticle(role)))
		}
	}
	return errors.Join(errs...)
}

// party returns the card as a plan names it.
func (c Card) party() plan.Party {
	p := plan.Party{Operator: c.Name, Key: c.Opens, URL: c.URL, Relay: c.Relay}
	switch c.Role {
	case Analyzer:
		p.Releases = c.Signs
	case Shuffler, Leader, Helper:
		p.Receipts = c.Signs
	}
	return p
}

// gateway returns the key to which devices seal what they send by a relay; empty without one.
func (c Card) gateway() string {
	if c.Relay == nil {
		return ""
	}
	return c.Relay.Key
}

// Place names in a plan the parties of cards that Check passed. Its route has room for so many hops as
// there are shufflers, who stand one instance after the other in the order of their cards. Keys of
// tokens go to all entries first, then to all second hops, and so on.
func Place(p *plan.Plan, cards []Card) error {
	for _, c := range cards {
		for _, key := range []string{c.Opens, c.gateway()} {
			if suite, _, _ := strings.Cut(key, ":"); key != "" && suite != p.Envelopes.Suite {
				return fmt.Errorf("%s has a key of suite %s, and the plan is of %s: give --suite %s, or ask for another card", c.File, suite, p.Envelopes.Suite, suite)
			}
		}
	}
	p.Analyzer = Of(cards, Analyzer)[0].party()
	var demanding []*plan.Party // in the order in which they get keys of tokens
	if s := p.Route.Sum; s != nil {
		s.Leader, s.Helper = Of(cards, Leader)[0].party(), Of(cards, Helper)[0].party()
		demanding = []*plan.Party{&s.Leader, &s.Helper}
	} else {
		demanding = placeHops(p.Route.Mix, Of(cards, Shuffler))
	}
	issuers := Of(cards, Issuer)
	if len(issuers) == 0 {
		return nil
	}
	issuer := issuers[0]
	if len(issuer.Tokens) > len(demanding) {
		return fmt.Errorf("%s has %d keys of tokens, and the plan %d who can demand some: have the issuer write a card with this plan's alone (confetti party card --key)", issuer.File, len(issuer.Tokens), len(demanding))
	}
	for i, key := range issuer.Tokens {
		demanding[i].Tokens = key
	}
	named := issuer.party()
	if p.Route.Sum != nil {
		p.Route.Sum.Issuer = &named
	} else {
		p.Route.Mix.Issuer = &named
	}
	return nil
}

// placeHops fills the instances, and returns all hops: first ones first.
func placeHops(m *plan.Mix, shufflers []Card) (hops []*plan.Party) {
	next := 0
	for i := range m.Instances {
		for h := range m.Instances[i].Hops {
			m.Instances[i].Hops[h] = shufflers[next].party()
			if h > 0 { // devices send the first hop alone something
				m.Instances[i].Hops[h].Relay = nil
			}
			next++
		}
	}
	for h := range m.Instances[0].Hops {
		for i := range m.Instances {
			hops = append(hops, &m.Instances[i].Hops[h])
		}
	}
	return hops
}
