package console

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// A new plan has the parties of an earlier one: for everybody as its plan names them, without its tokens;
// for an operator with the newest keys, and with those of tokens that were made since.
func TestANewPlanHasTheOperatorsKeys(t *testing.T) {
	s, _, crowds, _ := several(t)
	hash, err := wire.ParsePlanName(crowds)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := plan.ParseSigned(s.answers[base+wire.PlanPath(hash)])
	if err != nil {
		t.Fatal(err)
	}
	p := signed.Plan
	tell := func(url string, keys ...keyfile.Name) {
		text, err := json.Marshal(serve.Status{Now: published, Since: published, Tables: []serve.Table{{Title: serve.KeysTitle, Data: keys}}})
		if err != nil {
			t.Fatal(err)
		}
		s.answers[url+"/status.json"] = text
	}
	first := p.Route.Instances()[0].Hops[0]
	late := published.Add(1000 * time.Hour)
	tell(first.URL, keyfile.Name{Suite: "x25519", Since: published, Public: first.Key}, keyfile.Name{Suite: "x25519", Since: late, Public: "x25519:newer"}, keyfile.Name{Suite: relay.SignSuite, Since: late, Public: "ed25519:receipts"})
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: s, Operator: s, Studio: func() (http.Handler, error) { return http.NotFoundHandler(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(head ...string) (all []known) {
		_, text := get(t, c, "/new", head...)
		found := regexp.MustCompile(`data-known="([^"]*)"`).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("the page knows nobody:\n%s", text)
		}
		if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	one := shown()[0] // of all collections, which have the same parties
	if len(one.Parties.Way) != 2 || one.Parties.Way[0].Operator != first.Operator || one.Parties.Way[0].Text != first.URL+"\n"+first.Key || !strings.HasPrefix(one.Parties.Analyzer.Text, base+"\nx25519:") {
		t.Errorf("%+v", one)
	}
	cookie, _ := login(t, c)
	one = shown("Cookie", cookie.Name+"="+cookie.Value)[0]
	if one.Parties.Way[0].Text != first.URL+"\nx25519:newer\ned25519:receipts" || one.Parties.Way[1].Text != p.Route.Instances()[0].Hops[1].URL+"\n"+p.Route.Instances()[0].Hops[1].Key {
		t.Errorf("%+v", one)
	}
}

// Keys of tokens that were there when a collection began are that one's, and no other's.
func TestKeysOfTokensAreTakenOnce(t *testing.T) {
	p := part{way: make([]plan.Party, 2), issuer: plan.Party{URL: "https://issuer.example"}, suite: "x25519"}
	var keys []keyfile.Name
	for i := range 4 { // the newest first
		keys = append(keys, keyfile.Name{Suite: token.Suite, Since: published.Add(time.Duration(4-i) * time.Hour), Public: fmt.Sprint("rsa2048:", 4-i)})
	}
	p.renew(map[string][]keyfile.Name{p.issuer.URL: keys}, published.Add(2*time.Hour))
	if p.way[0].Tokens != "rsa2048:3" || p.way[1].Tokens != "rsa2048:4" {
		t.Errorf("%+v", p.way)
	}
}
