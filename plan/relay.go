package plan

import (
	"fmt"
	"net/url"
	"strings"
)

// Relay hides from a party the network addresses of those who send it something: they hand it to the
// relay, sealed to the party's gateway (RFC 9458). The relay sees addresses and cannot read; it is of
// another organisation.
type Relay struct {
	Operator string `json:"operator"`
	URL      string `json:"url"` // of the relay's resource that leads to this party alone
	Key      string `json:"key"` // public key of the party's gateway, which opens nothing else
}

// Visited returns those to whom devices send something: the entries, or the leader, and who issues tokens.
func (p Plan) Visited() (all []Party) {
	for _, way := range p.Route.Ways() {
		all = append(all, way[0])
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		all = append(all, *issuer)
	}
	return all
}

// maxRelayURL bounds the address of a relay's resource, in bytes.
const maxRelayURL = 500

// relays checks who has a relay: parties to whom devices send something may, and nobody else.
func (p Plan) relays(ps *Problems) {
	at := map[string]*Relay{} // by the party's address
	one := func(party Party, name string, visited bool) {
		if party.Relay != nil {
			ps.Require(p.Version >= 3, "%s.relay is of version 3: leave it out of a plan of version %d", name, p.Version)
			ps.Require(visited, "%s.relay: no device sends anything there: leave it out", name)
			party.Relay.validate(ps, name, party, p.Envelopes.Suite)
		}
		if !visited || party.URL == "" {
			return
		}
		key := strings.TrimSuffix(party.URL, "/")
		other, known := at[key]
		ps.Require(!known || other == nil && party.Relay == nil || other != nil && party.Relay != nil && *other == *party.Relay, "%s.relay is not that of another party at the same address: devices come to one address one way", name)
		at[key] = party.Relay
	}
	for i, in := range p.Route.Instances()[:min(len(p.Route.Instances()), MaxInstances)] {
		for h, hop := range in.Hops[:min(len(in.Hops), MaxHops)] {
			one(hop, fmt.Sprintf("route.mix.instances[%d].hops[%d]", i, h), h == 0)
		}
	}
	if s := p.Route.Sum; s != nil {
		one(s.Leader, "route.sum.leader", true)
		one(s.Helper, "route.sum.helper", false)
	}
	if issuer := p.Route.Issuer(); issuer != nil {
		one(*issuer, "route."+p.Route.Kind+".issuer", true)
	}
	one(p.Analyzer, "analyzer", false)
}

// Of lists what is wrong with a relay of a party whose other keys are of a suite.
func (r *Relay) Of(party Party, suite string) error {
	var ps Problems
	r.validate(&ps, "party", party, suite)
	return ps.Err()
}

func (r *Relay) validate(ps *Problems, at string, party Party, suite string) {
	at += ".relay."
	same := func(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }
	ps.Require(strings.TrimSpace(r.Operator) != "", "%soperator is empty: name the organisation that sees devices' addresses", at)
	ps.Require(!same(r.Operator, party.Operator), "%soperator is the party's own: nobody hides addresses from itself; rent the relay of another organisation", at)
	ps.Require(party.URL != "", "%surl leads to a party without an address: give the party's url too", at)
	u, err := url.Parse(r.URL)
	ps.Require(err == nil && len(r.URL) <= maxRelayURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && !strings.Contains(r.URL, "#"), "%surl must be https://host/path of at most %d bytes, without a password and a fragment", at, maxRelayURL)
	if own, bad := url.Parse(party.URL); err == nil && bad == nil && u.Host != "" {
		ps.Require(!same(u.Host, own.Host), "%surl is of the party's own host: nobody hides addresses from itself; name the address that the relay has given", at)
	}
	ps.Require(strings.HasPrefix(r.Key, suite+":") && len(r.Key) > len(suite)+1, "%skey must be a public key of suite %q, in the form %s:...", at, suite, suite)
	ps.Require(r.Key == "" || r.Key != party.Key, "%skey opens envelopes too: a gateway needs a key of its own", at)
}
