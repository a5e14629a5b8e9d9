package plan

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// behind is a plan in which devices come to the entry by a relay.
func behind() Plan {
	p := newest()
	p.Route.Mix.Instances[0].Hops[0].URL = "https://north.example:8443"
	p.Route.Mix.Instances[0].Hops[0].Relay = relayTo("north")
	return p
}

func relayTo(name string) *Relay {
	return &Relay{Operator: "Hideaway", URL: "https://relay.example/" + name, Key: "x25519:" + strings.Repeat("B", 43)}
}

// relayVectors are a plan with a relay, and plans to refuse.
type relayVectors struct {
	Plan string            `json:"plan"`
	Name string            `json:"name"`
	Bad  map[string]string `json:"bad_plans"`
}

func makeRelayVectors() relayVectors {
	p := behind()
	p.Version = 3
	text := string(p.Canonical())
	edit := func(old, new string) string {
		if !strings.Contains(text, old) {
			panic(old + " is not in the plan")
		}
		return strings.Replace(text, old, new, 1)
	}
	relay := `"relay":{"operator":"Hideaway","url":"https://relay.example/north","key":"` + relayTo("").Key + `"}`
	return relayVectors{text, p.Name(), map[string]string{
		"a plan of version 2":         edit(`"version":3`, `"version":2`),
		"nobody's":                    edit(`"operator":"Hideaway"`, `"operator":" "`),
		"the party's own":             edit(`"operator":"Hideaway"`, `"operator":"north"`),
		"in the clear":                edit("https://relay.example", "http://relay.example"),
		"of the party's own host":     edit("https://relay.example/north", "https://north.example:8443/relay"),
		"with a password":             edit("https://relay.example", "https://a:b@relay.example"),
		"with a fragment":             edit("relay.example/north", "relay.example/north#x"),
		"without a host":              edit("https://relay.example/north", "https:///north"),
		"a long address":              edit("relay.example/north", "relay.example/"+strings.Repeat("n", maxRelayURL)),
		"without a key":               edit(`,"key":"`+relayTo("").Key+`"`, ""),
		"a key of another suite":      edit(relayTo("").Key, "x-wing:AAAA"),
		"the key that opens":          edit(relayTo("").Key, p.Route.Mix.Instances[0].Hops[0].Key),
		"with a member more":          edit(`"relay":{`, `"relay":{"more":1,`),
		"a list":                      edit(relay, `"relay":[]`),
		"nothing":                     edit(relay, `"relay":null`),
		"before the operator":         edit(`{"operator":"North"`, `{`+relay+`,"operator":"North"`),
		"to a party without address":  edit(`"url":"https://north.example:8443",`, ""),
		"to the second hop":           edit(`{"operator":"South","key":"`+p.Route.Mix.Instances[0].Hops[1].Key+`"}`, `{"operator":"South","key":"`+p.Route.Mix.Instances[0].Hops[1].Key+`","url":"https://south.example",`+relay+`}`),
		"to the analyzer":             edit(`"releases":"`+p.Analyzer.Releases+`"}`, `"releases":"`+p.Analyzer.Releases+`",`+relay+`}`),
		"to one of two at an address": edit(`]}]}}`, `]},{"hops":[{"operator":"North","key":"`+p.Route.Mix.Instances[0].Hops[0].Key+`","url":"https://north.example:8443/"}]}]}}`),
	}}
}

// The vectors outlive the code.
func TestRelayVectors(t *testing.T) {
	const file = "testdata/vectors/v3/relay.json"
	if *update {
		text, err := json.MarshalIndent(makeRelayVectors(), "", " ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v relayVectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v, makeRelayVectors()); diff != "" {
		t.Errorf("the vectors changed:\n%s", diff)
	}
	p, err := Parse([]byte(v.Plan))
	if err != nil || p.Name() != v.Name || p.Version != 3 {
		t.Fatal(err)
	}
	if p.Version = Version; cmp.Diff(p, behind()) != "" {
		t.Fatal(cmp.Diff(p, behind()))
	}
	for name, text := range v.Bad {
		_, err := Parse([]byte(text))
		if err == nil {
			t.Errorf("a plan is read: a relay %s", name)
		} else if shape := strings.Contains(err.Error(), "canonical form"); !shape && !strings.Contains(err.Error(), "relay") && !strings.Contains(err.Error(), "version") {
			t.Errorf("a relay %s: %v", name, err)
		}
	}
}

// Every party that devices send something may have a relay: an entry, a leader, an issuer, two of one address alike.
func TestWhoMayHaveARelay(t *testing.T) {
	p := behind()
	twice := p.Route.Mix.Instances[0]
	twice.Hops = append([]Party{}, twice.Hops...)
	p.Route.Mix.Instances = append(p.Route.Mix.Instances, twice)
	for i := range p.Route.Mix.Instances {
		p.Route.Mix.Instances[i].Hops[0].Tokens = "rsa2048:" + string(rune('A'+i))
	}
	p.Route.Mix.Issuer = &Party{Operator: "Registry", URL: "https://registry.example", Relay: relayTo("registry")}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	var names []string
	for _, party := range p.Visited() {
		names = append(names, party.Operator)
	}
	if diff := cmp.Diff([]string{"North", "North", "Registry"}, names); diff != "" {
		t.Error(diff)
	}
	s := summed()
	s.Version, s.Analyzer.Releases = Version, newest().Analyzer.Releases
	s.Route.Sum.Leader.URL, s.Route.Sum.Leader.Relay = "https://leader.example", relayTo("leader")
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Route.Sum.Helper.URL, s.Route.Sum.Helper.Relay = "https://helper.example", relayTo("helper")
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "no device sends anything there") {
		t.Error(err)
	}
}
