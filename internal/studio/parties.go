package studio

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Parties are who takes part in a collection, as far as it is known.
type Parties struct {
	Way      []Party `json:"way"` // hops, the first one first, or leader and helper; none: two of whom nothing is known
	Analyzer Party   `json:"analyzer"`
	Issuer   Party   `json:"issuer"` // of tokens; all empty: nobody demands any
	// Closes is when the collection ends (RFC 3339); "": who signs says so.
	Closes string `json:"closes"`
}

// Party is an organisation, with a text that has its address and its public keys among other words: those of
// confetti keys show, of a part of a plan, or alone.
type Party struct {
	Operator string `json:"operator"`
	Text     string `json:"text"`
}

func (p Party) empty() bool { return strings.TrimSpace(p.Operator+p.Text) == "" }

// Lacks is what a plan is not complete without, and how whoever it is of gets it.
type Lacks struct {
	Party   string `json:"party"`
	What    string `json:"what"`
	Command string `json:"command,omitempty"`
}

// errPrivate never says more: the text may hold a key.
var errPrivate = errors.New("that is a private key file, which its owner gives to nobody: close this page, and paste what confetti keys show FILE --public prints")

// read finds the address and the public keys.
func (p Party) read(name string) (plan.Party, error) {
	out := plan.Party{Operator: strings.TrimSpace(p.Operator)}
	if strings.Contains(p.Text, "private_key") || strings.Contains(p.Text, "PRIVATE KEY") {
		return out, fmt.Errorf("%s: %w", name, errPrivate)
	}
	for _, word := range strings.Fields(p.Text) {
		word = strings.Trim(word, `"',;`)
		var to *string
		switch suite, _, _ := strings.Cut(word, ":"); suite {
		case "x25519", "x-wing":
			to = &out.Key
		case "ed25519":
			to = &out.Receipts
		case "rsa2048":
			to = &out.Tokens
		case "https":
			to, word = &out.URL, strings.TrimSuffix(word, "/")
		default:
			continue // such as "purpose", of what confetti keys show prints
		}
		if *to != "" && *to != word {
			return out, fmt.Errorf("%s has two different keys of one kind, or two addresses: leave one of them out", name)
		}
		*to = word
	}
	return out, nil
}

// wayNames returns what the parties of a way do, by which people and plans name them.
func wayNames(route string, n int) (names []string) {
	if route == plan.RouteSum {
		return []string{"leader", "helper"}
	}
	for i := range n {
		names = append(names, fmt.Sprintf("hop %d", i+1))
	}
	return names
}

// fill gives a plan its route and its parties. Who has no name yet goes by what it does.
func (g Parties) fill(p *plan.Plan, route, noise string) error {
	names := wayNames(route, cmp.Or(len(g.Way), hops))
	if len(g.Way) > plan.MaxHops || len(g.Way) > 0 && len(g.Way) != len(names) {
		return fmt.Errorf("%d parties mix or add: a sum has a leader and a helper, and a way that mixes 1 to %d hops", len(g.Way), plan.MaxHops)
	}
	way := make([]plan.Party, len(names))
	for i, name := range names {
		var err error
		if i < len(g.Way) {
			way[i], err = g.Way[i].read(name)
		}
		if err != nil {
			return err
		}
		way[i].Operator = cmp.Or(way[i].Operator, name)
	}
	analyzer, err := g.Analyzer.read("analyzer")
	if err != nil {
		return err
	}
	p.Analyzer = plan.Party{Operator: cmp.Or(analyzer.Operator, "analyzer"), Key: analyzer.Key, URL: analyzer.URL, Releases: analyzer.Receipts} // the one key that it signs with
	var issuer *plan.Party
	if !g.Issuer.empty() {
		read, err := g.Issuer.read("issuer")
		if err != nil {
			return err
		}
		issuer = &plan.Party{Operator: cmp.Or(read.Operator, "issuer"), URL: read.URL}
	}
	if g.Closes != "" {
		at, err := time.Parse(time.RFC3339, g.Closes)
		if err != nil {
			return errors.New("when the collection closes is no time such as 2027-01-31T00:00:00Z")
		}
		p.Times.Closes = at.UTC()
	}
	if route == plan.RouteSum {
		p.Route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Leader: way[0], Helper: way[1], Issuer: issuer, Noise: noise}}
		return nil
	}
	p.Route = plan.Route{Kind: plan.RouteMix, Mix: &plan.Mix{Instances: []plan.Instance{{Hops: way}}, Issuer: issuer}}
	return nil
}

// lacking lists what a plan needs before it can be signed for a collection over a network.
func lacking(p plan.Plan) (all []Lacks) {
	need := func(has bool, party, what, command string) {
		if !has {
			all = append(all, Lacks{party, what, command})
		}
	}
	issuer := p.Route.Issuer()
	names := wayNames(p.Route.Kind, len(p.Route.Ways()[0]))
	suite := ""
	if p.Envelopes.Suite != "x25519" {
		suite = " --suite " + p.Envelopes.Suite
	}
	opens := func(name string, of plan.Party) {
		need(of.URL != "", name, "its address, such as https://confetti.example:8443", "")
		need(of.Key != "", name, "the public key that it opens with", "confetti keys new keys/open.json"+suite)
		need(of.Key == "" || useful(of.Key) == nil, name, "a public key that envelopes can be sealed with, which this is not", "confetti keys new keys/open.json"+suite)
	}
	for i, one := range p.Route.Ways()[0] {
		opens(names[i], one)
		need(one.Receipts != "", names[i], "the public key of its receipts", "confetti keys new keys/receipts.json --for receipts")
		need(one.Tokens != "" || issuer == nil, names[i], "a public key of tokens, which the issuer makes for this plan alone", fmt.Sprintf("confetti keys new keys/%s.json --for tokens", strings.ReplaceAll(names[i], " ", "-")))
	}
	opens("analyzer", p.Analyzer)
	need(p.Analyzer.Releases != "", "analyzer", "the public key that signs its releases", "confetti keys new keys/releases.json --for releases")
	tokens := slices.ContainsFunc(p.Route.Ways()[0], func(one plan.Party) bool { return one.Tokens != "" })
	need(issuer != nil || !tokens, "issuer", "who it is: tokens are demanded", "")
	need(issuer == nil || issuer.URL != "", "issuer", "its address, such as https://tokens.example:8443", "")
	need(!p.Times.Closes.IsZero(), "publisher", "when the collection closes", "")
	return all
}

// useful tries a public key.
func useful(text string) error {
	key, err := envelope.ParsePublicKey(text)
	if err != nil {
		return err
	}
	sealer, err := envelope.NewSealer(envelope.Route([32]byte{}, 0, 0, key, key), 1)
	if err == nil {
		_, err = sealer.Seal([]byte{0})
	}
	return err
}

// designed returns the plan with its noise, and the same made runnable: with keys that are nobody's, since a plan
// without keys cannot be run, and those that were given may be of no use.
func designed(p plan.Plan) (plan.Plan, *protocol.Protocol, error) {
	p, err := design.Fill(p)
	if err != nil {
		return p, nil, err
	}
	runnable, err := keyed(p)
	if err != nil {
		return p, nil, err
	}
	proto, err := protocol.New(runnable)
	return p, proto, err
}

// keyed returns the plan with another key for each party, which is thrown away: no number depends on keys.
func keyed(p plan.Plan) (plan.Plan, error) {
	parties := []*plan.Party{&p.Analyzer}
	if s := p.Route.Sum; s != nil {
		sum := *s
		p.Route.Sum, parties = &sum, append(parties, &sum.Leader, &sum.Helper)
	}
	if m := p.Route.Mix; m != nil {
		mix := *m
		mix.Instances = []plan.Instance{{Hops: slices.Clone(m.Instances[0].Hops)}}
		p.Route.Mix = &mix
		for h := range mix.Instances[0].Hops {
			parties = append(parties, &mix.Instances[0].Hops[h])
		}
	}
	for _, party := range parties {
		if p.Route.Issuer() == nil { // who is missing still, which lacking says
			party.Tokens = ""
		}
		key, err := envelope.GenerateKey(envelope.Suite(p.Envelopes.Suite))
		if err != nil {
			return p, err
		}
		party.Key = key.Public().String()
	}
	releases, err := relay.GenerateSignKey()
	p.Analyzer.Releases = releases.Public().String()
	return p, err
}
