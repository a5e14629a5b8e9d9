package card

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// party makes a card of a role, and the key that signs it.
func party(t testing.TB, role string) (Card, relay.SignKey) {
	t.Helper()
	sign, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	c := Card{Name: "North", Role: role, Contact: "ops@north.example", Signs: sign.Public().String()}
	if role != Publisher {
		c.URL, c.Certificate = "https://north.example:8443", certificate(t, "north.example")
	}
	if c.opens() {
		c.Opens = opening(t).Public().String()
	}
	if role == Issuer {
		key, err := token.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		c.Tokens = []string{key.Public().String()}
	}
	return c, sign
}

func hideaway(t testing.TB) *plan.Relay {
	t.Helper()
	return &plan.Relay{Operator: "Hideaway", URL: "https://relay.example/north", Key: opening(t).Public().String()}
}

func opening(t testing.TB) envelope.PrivateKey {
	t.Helper()
	key, err := envelope.GenerateKey(envelope.X25519)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func certificate(t testing.TB, host string) []byte {
	t.Helper()
	text, _, err := serve.SelfSigned(time.Hour, host)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return block.Bytes
}

// signedText writes a card whatever it says.
func signedText(c Card, sign relay.SignKey) []byte {
	return append(canonical(signed{format, c, base64url.EncodeToString(sign.Sign(c.message()))}), '\n')
}

func TestACardOfEveryRoleIsRead(t *testing.T) {
	for _, role := range roles {
		c, sign := party(t, role)
		if visited(role) {
			c.Relay = hideaway(t)
		}
		text, err := c.Sign(sign)
		if err != nil {
			t.Fatal(role, err)
		}
		file := filepath.Join(t.TempDir(), "a.card")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(file)
		c.File = file
		if err != nil || cmp.Diff(c, got) != "" {
			t.Errorf("%s: %v %s", role, err, cmp.Diff(c, got))
		}
	}
}

// Each card is signed by its own key, so that only its form and what it says keep it out.
func TestBadCardsAreRefused(t *testing.T) {
	authority, err := serve.NewAuthority("north.example", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	both, _, err := authority.Server("north.example", "south.example")
	if err != nil {
		t.Fatal(err)
	}
	der := func(text []byte) []byte { block, _ := pem.Decode(text); return block.Bytes }
	for name, c := range map[string]struct {
		role   string
		change func(*Card)
		want   string
	}{
		"no role":                     {Shuffler, func(c *Card) { c.Role = "" }, "role is"},
		"another role":                {Shuffler, func(c *Card) { c.Role = "mixer" }, "role is"},
		"a control in the name":       {Shuffler, func(c *Card) { c.Name = "No\x1b[2Jrth" }, "name is not one line"},
		"a name that turns round":     {Shuffler, func(c *Card) { c.Name = "North\u202e" }, "name is not one line"},
		"a name of two lines":         {Shuffler, func(c *Card) { c.Name = "North\nSouth" }, "name is not one line"},
		"a name of nothing":           {Shuffler, func(c *Card) { c.Name = "" }, "name has 0 bytes"},
		"a long name":                 {Shuffler, func(c *Card) { c.Name = strings.Repeat("n", maxName+1) }, "name has 101 bytes"},
		"a name of no text":           {Shuffler, func(c *Card) { c.Name = "a\xffb" }, "card: "},
		"a hidden contact":            {Shuffler, func(c *Card) { c.Contact = "ops\u200b" }, "contact is not one line"},
		"no contact":                  {Shuffler, func(c *Card) { c.Contact = "" }, "contact has 0 bytes"},
		"no key that opens":           {Analyzer, func(c *Card) { c.Opens = "" }, "opens:"},
		"a bad key that opens":        {Analyzer, func(c *Card) { c.Opens = c.Opens[:20] }, "opens:"},
		"an issuer that opens":        {Issuer, func(c *Card) { c.Opens = opening(t).Public().String() }, "an issuer opens nothing"},
		"a hop with tokens":           {Shuffler, func(c *Card) { c.Tokens = []string{"rsa2048:AAAA"} }, "an issuer's"},
		"an issuer without tokens":    {Issuer, func(c *Card) { c.Tokens = nil }, "1 to 64 keys"},
		"a key of tokens twice":       {Issuer, func(c *Card) { c.Tokens = append(c.Tokens, c.Tokens[0]) }, "twice"},
		"a bad key of tokens":         {Issuer, func(c *Card) { c.Tokens = []string{"rsa2048:AAAA"} }, "tokens:"},
		"many keys of tokens":         {Issuer, func(c *Card) { c.Tokens = make([]string, maxTokens+1) }, "1 to 64 keys"},
		"no address":                  {Shuffler, func(c *Card) { c.URL = "" }, "url is not"},
		"an address in the clear":     {Shuffler, func(c *Card) { c.URL = "http://north.example:8443" }, "url is not"},
		"an address with a path":      {Shuffler, func(c *Card) { c.URL += "/v1" }, "url is not"},
		"an address with a password":  {Shuffler, func(c *Card) { c.URL = "https://a:b@north.example:8443" }, "url is not"},
		"a service of a publisher":    {Publisher, func(c *Card) { c.URL = "https://north.example" }, "runs no service"},
		"no certificate":              {Shuffler, func(c *Card) { c.Certificate = []byte("no") }, "certificate is none"},
		"an authority":                {Shuffler, func(c *Card) { c.Certificate = der(authority.PEM()) }, "certificate is of an authority"},
		"another host's":              {Shuffler, func(c *Card) { c.Certificate = certificate(t, "south.example") }, "not for the host"},
		"one for a second host":       {Shuffler, func(c *Card) { c.Certificate = der(both) }, `for "south.example" too`},
		"a long certificate":          {Shuffler, func(c *Card) { c.Certificate = make([]byte, maxCertificate+1) }, "certificate has more"},
		"a hop with a pair":           {Shuffler, func(c *Card) { c.Pair = &Pair{Helper: c.Opens} }, "comes from the leader"},
		"a pair of nobody":            {Leader, func(c *Card) { c.Pair = &Pair{} }, "pair:"},
		"a long secret":               {Leader, func(c *Card) { c.Pair = &Pair{c.Opens, nil, make([]byte, maxPair+1)} }, "pair has more"},
		"a relay of a helper":         {Helper, func(c *Card) { c.Relay = hideaway(t) }, "no device sends a helper anything"},
		"a relay of an analyzer":      {Analyzer, func(c *Card) { c.Relay = hideaway(t) }, "no device sends an analyzer anything"},
		"a relay of nobody":           {Shuffler, func(c *Card) { c.Relay = hideaway(t); c.Relay.Operator = "" }, "relay.operator has 0 bytes"},
		"a hidden relay":              {Shuffler, func(c *Card) { c.Relay = hideaway(t); c.Relay.Operator = "Hide\u200baway" }, "relay.operator is not one line"},
		"its own relay":               {Leader, func(c *Card) { c.Relay = hideaway(t); c.Relay.Operator = c.Name }, "nobody hides addresses from itself"},
		"a relay in the clear":        {Issuer, func(c *Card) { c.Relay = hideaway(t); c.Relay.URL = "http://relay.example/north" }, "relay.url must be"},
		"a relay at its own host":     {Shuffler, func(c *Card) { c.Relay = hideaway(t); c.Relay.URL = c.URL + "/relay" }, "nobody hides addresses from itself"},
		"a gateway without a key":     {Shuffler, func(c *Card) { c.Relay = hideaway(t); c.Relay.Key = "x25519:AAAA" }, "relay.key"},
		"one key of hop and gateway":  {Shuffler, func(c *Card) { c.Relay = hideaway(t); c.Relay.Key = c.Opens }, "a key of its own"},
		"a card that goes on forever": {Issuer, func(c *Card) { c.Tokens = []string{strings.Repeat("x", maxBytes)} }, "longer than 65536 bytes"},
	} {
		one, sign := party(t, c.role)
		c.change(&one)
		if _, err := parse(signedText(one, sign)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := one.Sign(sign); err == nil {
			t.Errorf("%s: is signed", name)
		}
	}
}

// What was changed on its way is refused: every byte, and every beginning.
func TestChangedCardsAreRefused(t *testing.T) {
	c, sign := party(t, Shuffler)
	text, err := c.Sign(sign)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if _, err := parse(changed); err == nil {
			t.Fatalf("byte %d is changed, and the card is taken", i)
		}
		if _, err := parse(text[:i]); err == nil {
			t.Fatalf("%d bytes are taken", i)
		}
	}
	other, _ := party(t, Shuffler)
	for name, bad := range map[string][]byte{
		"of another's key": signedText(other, sign),
		"unsigned":         canonical(signed{format, c, ""}),
		"more behind it":   append(bytes.Clone(text), "{}\n"...),
		"another form":     bytes.Replace(text, []byte(`{"format"`), []byte(`{ "format"`), 1),
		"a member more":    bytes.Replace(text, []byte(`{"format"`), []byte(`{"more":1,"format"`), 1),
		"another case":     bytes.Replace(text, []byte(`"card"`), []byte(`"Card"`), 1),
		"a key of another": bytes.Replace(text, []byte(format), []byte("confetti-card/v2"), 1),
	} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%s: is taken", name)
		}
	}
}

func TestAPairOpensToItsHelperAlone(t *testing.T) {
	leader, sign := party(t, Leader)
	helper, _ := party(t, Helper)
	key := opening(t)
	helper.Opens = key.Public().String()
	if err := leader.SealPair(helper, []byte("secret of both")); err != nil {
		t.Fatal(err)
	}
	text, err := leader.Sign(sign)
	if err != nil || bytes.Contains(text, []byte("secret of both")) {
		t.Fatal(err, "or the secret is readable")
	}
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if secret, ours, err := got.OpenPair(map[string]envelope.PrivateKey{helper.Opens: key}); err != nil || !ours || string(secret) != "secret of both" {
		t.Errorf("%q %v %v", secret, ours, err)
	}
	if _, ours, err := got.OpenPair(map[string]envelope.PrivateKey{"x25519:other": opening(t)}); ours || err != nil {
		t.Error(ours, err, "of another helper")
	}
	if _, ours, err := got.OpenPair(map[string]envelope.PrivateKey{helper.Opens: opening(t)}); !ours || err == nil {
		t.Error(ours, err, "with another key")
	}
	hop, _ := party(t, Shuffler)
	if err := leader.SealPair(hop, nil); err == nil {
		t.Error("sealed to a hop")
	}
}

func TestCardsThatMakeNoPlanAreRefused(t *testing.T) {
	of := func(file, role string) Card {
		c, _ := party(t, role)
		c.File = file
		return c
	}
	hop, hop2, reader, leader, helper := of("hop", Shuffler), of("hop2", Shuffler), of("reader", Analyzer), of("leader", Leader), of("helper", Helper)
	copied := of("copied", Shuffler)
	copied.Opens = hop.Opens
	for name, c := range map[string]struct {
		route string
		cards []Card
		want  string
	}{
		"mixed":              {plan.RouteMix, []Card{hop, hop2, reader, of("issuer", Issuer)}, ""},
		"summed":             {plan.RouteSum, []Card{leader, helper, reader}, ""},
		"no hop":             {plan.RouteMix, []Card{reader}, "no card is of a shuffler"},
		"no analyzer":        {plan.RouteMix, []Card{hop}, "no card is of an analyzer"},
		"two analyzers":      {plan.RouteMix, []Card{hop, reader, of("second", Analyzer)}, "reader and second are cards of an analyzer"},
		"two helpers":        {plan.RouteSum, []Card{leader, helper, of("second", Helper), reader}, "helper and second are cards of a helper"},
		"a leader of mixing": {plan.RouteMix, []Card{hop, leader, reader}, "leader is the card of a leader"},
		"a hop of sums":      {plan.RouteSum, []Card{leader, helper, hop, reader}, "hop is the card of a shuffler"},
		"a publisher":        {plan.RouteMix, []Card{hop, reader, of("office", Publisher)}, "office is the card of a publisher"},
		"one twice":          {plan.RouteMix, []Card{hop, hop, reader}, "hop and hop have one key"},
		"a key of another":   {plan.RouteMix, []Card{hop, copied, reader}, "hop and copied have one key"},
	} {
		err := Check(c.route, c.cards)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Keys of tokens go to entries first.
func TestWhoDemandsTokens(t *testing.T) {
	var cards []Card
	for range 4 {
		c, _ := party(t, Shuffler)
		cards = append(cards, c)
	}
	reader, _ := party(t, Analyzer)
	issuer, _ := party(t, Issuer)
	issuer.Tokens = []string{"one", "two", "three"}
	p := plan.Plan{Envelopes: plan.Envelopes{Suite: "x25519"}, Route: plan.Route{Kind: plan.RouteMix, Mix: &plan.Mix{Instances: []plan.Instance{{Hops: make([]plan.Party, 2)}, {Hops: make([]plan.Party, 2)}}}}}
	if err := Place(&p, append(cards, reader, issuer)); err != nil {
		t.Fatal(err)
	}
	in := p.Route.Mix.Instances
	if in[0].Hops[0].Tokens != "one" || in[1].Hops[0].Tokens != "two" || in[0].Hops[1].Tokens != "three" || in[1].Hops[1].Tokens != "" {
		t.Error(in)
	}
	if in[1].Hops[0].Key != cards[2].Opens || in[1].Hops[0].Receipts != cards[2].Signs || p.Analyzer.Releases != reader.Signs || p.Route.Mix.Issuer.URL != issuer.URL {
		t.Error(p.Route, p.Analyzer)
	}
	issuer.Tokens = make([]string, 5)
	if err := Place(&p, append(cards, reader, issuer)); err == nil || !strings.Contains(err.Error(), "5 keys of tokens") {
		t.Error(err)
	}
	p.Envelopes.Suite = "x-wing"
	if err := Place(&p, append(cards, reader)); err == nil || !strings.Contains(err.Error(), "--suite x25519") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, role := range roles {
		c, sign := party(f, role)
		text, err := c.Sign(sign)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"format":"confetti-card/v1","card":{"name":"a","role":"issuer","contact":"b","signs":""},"signature":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c Card
		var err error
		costlimit.Heap(t, 64, len(text), func() { c, err = parse(text) })
		if err != nil {
			return
		}
		s := signed{format, c, ""}
		if body := canonical(s.Card); !bytes.Contains(text, body) {
			t.Errorf("%q is not what was signed", body)
		}
	})
}
