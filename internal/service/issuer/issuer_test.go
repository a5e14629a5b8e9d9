package issuer

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/storage/atomicfile/atomicfiletest"
	"github.com/confetti-dp/confetti/internal/testkit/example"

	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

func TestMain(m *testing.M) {
	atomicfiletest.InMemory()
	goleak.VerifyTestMain(m)
}

// tokenKeys are drawn once for all tests: it takes a moment.
var tokenKeys = sync.OnceValue(func() (keys [3]token.PrivateKey) {
	for i := range keys {
		var err error
		if keys[i], err = token.GenerateKey(); err != nil {
			panic(err)
		}
	}
	return keys
})

// world is an issuer of a plan with two instances: the hops (0, 0), (0, 1) and
// (1, 1) demand tokens, the hop (1, 0) does not.
type world struct {
	t         testing.TB
	options   Options
	now       time.Time
	plan      plan.Plan
	signed    plan.Signed
	publisher ed25519.PrivateKey
	service   *Service
	server    *serve.Server
	bearers   map[string]string // token of a name
}

var opens = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, now: opens, bearers: map[string]string{}, publisher: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, 32))}
	w.options = Options{
		Folder: filepath.Join(dir, "issuer"), Limits: serve.Visits{Rate: 1000, Burst: 1000},
		Common:     serve.Common{Keys: filepath.Join(dir, "keys"), Now: func() time.Time { return w.now }},
		Publishers: serve.Trust(plan.Publisher(w.publisher.Public().(ed25519.PublicKey))),
	}
	if err := os.Mkdir(w.options.Keys, 0o700); err != nil {
		t.Fatal(err)
	}
	people := filepath.Join(dir, "people")
	for _, name := range []string{"alice", "bob"} {
		b, err := serve.AddBearer(rng.New(), people, name)
		if err != nil {
			t.Fatal(err)
		}
		w.bearers[name] = b
	}
	var err error
	if w.options.Bearers, err = serve.ReadBearers(people); err != nil {
		t.Fatal(err)
	}
	keys := tokenKeys()
	for i, key := range keys {
		if err := partykey.CreateTokens(filepath.Join(w.options.Keys, fmt.Sprintf("%d.json", i)), key, "test"); err != nil {
			t.Fatal(err)
		}
	}
	other := keyfile.File{Suite: "ed25519", PublicKey: "ed25519:AAAA", PrivateKey: []byte{1}}
	if err := keyfile.Create(filepath.Join(w.options.Keys, "other.json"), other); err != nil {
		t.Fatal(err)
	}
	x25519 := "x25519:" + strings.Repeat("B", 42) + "A"
	demanding := func(key token.PrivateKey) plan.Party {
		return plan.Party{Operator: "hop", URL: "https://hop.example", Key: x25519, Tokens: key.Public().String()}
	}
	w.plan = plan.Plan{
		Version: plan.Version, Title: "test",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 2, Repetitions: 4,
			Kernel: plan.Kernel{Name: "ip-signs", Seed: strings.Repeat("0", 64)},
			Bitsum: plan.Bitsum{Name: "rr", Accounting: "exact", FlipProbability: 0.25},
		}},
		Budget:    plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"a", "b"}, Minimum: 4},
		Envelopes: plan.Envelopes{PerDevice: 4, PayloadBytes: 8, Suite: "x25519"},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{
			Issuer: &plan.Party{Operator: "issuer"},
			Instances: []plan.Instance{
				{Hops: []plan.Party{demanding(keys[0]), demanding(keys[1])}},
				{Hops: []plan.Party{{Operator: "hop", Key: x25519}, demanding(keys[2])}},
			},
		}},
		Analyzer: plan.Party{Operator: "analyzer", Key: x25519, Releases: example.Releaser},
		Times:    plan.Times{Opens: opens, Closes: opens.Add(time.Hour)},
	}
	if err := w.plan.Validate(); err != nil {
		t.Fatal(err)
	}
	w.signed = plan.Sign(w.plan, w.publisher)
	w.open()
	t.Cleanup(func() { w.service.Close() })
	if err := w.service.Load(w.signed); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) open() {
	w.t.Helper()
	var err error
	if w.service, err = New(w.options); err != nil {
		w.t.Fatal(err)
	}
	if w.server, err = serve.New(serve.Config{Name: "issuer", Routes: w.service.Routes(), Private: w.service.Private(), Status: w.service.Status, Ready: w.service.Ready}); err != nil {
		w.t.Fatal(err)
	}
}

// restart is what is left after the process ends and another one begins.
func (w *world) restart() {
	w.t.Helper()
	if err := w.service.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.open()
}

func (w *world) do(method, path, who, contentType string, body []byte) (*http.Response, []byte, *wire.Problem) {
	w.t.Helper()
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+w.bearers[who])
	rec := httptest.NewRecorder()
	w.server.ServeHTTP(rec, r)
	return rec.Result(), rec.Body.Bytes(), web.ReadProblem(rec.Result())
}

// at are the hops that demand tokens.
var at = []token.Context{{Hop: 0}, {Hop: 1}, {Instance: 1, Hop: 1}}

// ask requests a token of each hop from a seed.
func (w *world) ask(seed token.Seed) (tokenwire.Request, []*token.Request) {
	w.t.Helper()
	var asks tokenwire.Request
	var requests []*token.Request
	for i, c := range at {
		if int(c.Instance) >= len(w.plan.Route.Mix.Instances) {
			continue
		}
		c.Plan = w.plan.Hash()
		request, err := token.NewRequest(seed, tokenKeys()[i].Public(), c)
		if err != nil {
			w.t.Fatal(err)
		}
		asks.Asks = append(asks.Asks, tokenwire.Ask{Instance: c.Instance, Hop: c.Hop, Blinded: request.Blinded})
		requests = append(requests, request)
	}
	return asks, requests
}

func (w *world) issue(who string, asks tokenwire.Request) ([][]byte, *wire.Problem) {
	w.t.Helper()
	_, body, p := w.do("POST", wire.TokensPath(w.plan.Hash()), who, wire.TokenRequestType, asks.Marshal())
	if p != nil {
		return nil, p
	}
	answer, err := tokenwire.ParseResponse(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer.Answers, nil
}

func wants(t testing.TB, p *wire.Problem, code wire.Code, when string) {
	t.Helper()
	if p == nil || p.Code != code {
		t.Errorf("%s: %v, want %s", when, p, code)
	}
}

func TestOneTokenForARespondentAndHop(t *testing.T) {
	w := newWorld(t)
	asks, requests := w.ask(token.Seed{1})
	other, _ := w.ask(token.Seed{2})
	var first [][]byte
	for _, when := range []string{"at first", "again", "after a restart"} {
		if when == "after a restart" {
			w.restart()
		}
		answers, p := w.issue("alice", asks)
		if p != nil {
			t.Fatalf("%s: %v", when, p)
		}
		for i, q := range requests {
			tok, err := q.Finish(answers[i])
			if err != nil {
				t.Fatal(err)
			}
			c := at[i]
			c.Plan = w.plan.Hash()
			if err := tokenKeys()[i].Public().Verify(c, tok); err != nil {
				t.Errorf("%s: the token of hop %v: %v", when, at[i], err)
			}
			if first != nil && !bytes.Equal(answers[i], first[i]) {
				t.Errorf("%s: another answer", when)
			}
		}
		first = answers
		_, p = w.issue("alice", other)
		wants(t, p, wire.TokenIssued, when+", another request")
		_, p = w.issue("alice", tokenwire.Request{Asks: []tokenwire.Ask{asks.Asks[0], other.Asks[1]}})
		wants(t, p, wire.TokenIssued, when+", one of two another")
	}
	if _, p := w.issue("bob", other); p != nil {
		t.Errorf("another respondent: %v", p)
	}
}

// A part of the tokens now and a part later is as good.
func TestTokensOneByOne(t *testing.T) {
	w := newWorld(t)
	asks, _ := w.ask(token.Seed{1})
	for _, a := range asks.Asks {
		if _, p := w.issue("alice", tokenwire.Request{Asks: []tokenwire.Ask{a}}); p != nil {
			t.Error(p)
		}
	}
	if _, p := w.issue("alice", asks); p != nil {
		t.Error(p)
	}
}

// A crash before the mark leaves the turn unused; after it, the same request is
// answered and no other. Whatever was answered is all that ever is.
func TestCrashes(t *testing.T) {
	for _, point := range []string{"before mark", "after mark"} {
		w := newWorld(t)
		crash := errors.New("crash")
		w.options.Failpoint = func(name string) error {
			if name == point {
				return crash
			}
			return nil
		}
		w.restart()
		asks, _ := w.ask(token.Seed{1})
		other, _ := w.ask(token.Seed{2})
		_, p := w.issue("alice", asks)
		wants(t, p, wire.Internal, point)
		w.options.Failpoint = nil
		w.restart()
		_, p = w.issue("alice", other)
		if marked := point == "after mark"; marked != (p != nil) {
			t.Errorf("%s: another request after the crash: %v", point, p)
		}
		_, p = w.issue("alice", asks)
		if marked := point == "after mark"; marked != (p == nil) {
			t.Errorf("%s: the same request after the crash: %v", point, p)
		}
	}
}

func TestIssuerRefuses(t *testing.T) {
	w := newWorld(t)
	asks, _ := w.ask(token.Seed{1})
	path, body := wire.TokensPath(w.plan.Hash()), asks.Marshal()
	for name, c := range map[string]struct {
		code            wire.Code
		path, who, kind string
		body            []byte
	}{
		"a stranger":        {wire.Unauthenticated, path, "mallory", wire.TokenRequestType, body},
		"another plan":      {wire.UnknownPlan, wire.TokensPath([32]byte{1}), "alice", wire.TokenRequestType, body},
		"no plan":           {wire.BadRequest, "/v1/plans/x/tokens", "alice", wire.TokenRequestType, body},
		"another type":      {wire.UnsupportedMediaType, path, "alice", "application/cbor", body},
		"no CBOR":           {wire.BadRequest, path, "alice", wire.TokenRequestType, body[1:]},
		"too much":          {wire.TooLarge, path, "alice", wire.TokenRequestType, make([]byte, tokenwire.MaxBody+1)},
		"a hop without":     {wire.BadRequest, path, "alice", wire.TokenRequestType, tokenwire.Request{Asks: []tokenwire.Ask{{Instance: 1, Hop: 0, Blinded: asks.Asks[0].Blinded}}}.Marshal()},
		"no such hop":       {wire.BadRequest, path, "alice", wire.TokenRequestType, tokenwire.Request{Asks: []tokenwire.Ask{{Instance: 9, Hop: 9, Blinded: asks.Asks[0].Blinded}}}.Marshal()},
		"above the modulus": {wire.BadRequest, path, "alice", wire.TokenRequestType, tokenwire.Request{Asks: []tokenwire.Ask{{Blinded: bytes.Repeat([]byte{255}, token.RequestSize)}}}.Marshal()},
	} {
		_, _, p := w.do("POST", c.path, c.who, c.kind, c.body)
		wants(t, p, c.code, name)
	}
	w.now = opens.Add(-90 * time.Minute)
	_, p := w.issue("alice", asks)
	wants(t, p, wire.NotOpen, "too early")
	if p != nil && p.RetryAfter != 90*time.Minute {
		t.Errorf("told to come back after %v", p.RetryAfter)
	}
	w.now = w.plan.Times.Closes
	_, p = w.issue("alice", asks)
	wants(t, p, wire.EpochOver, "too late")
	w.now = opens
	// None of these has used up a turn.
	if _, p := w.issue("alice", asks); p != nil {
		t.Error(p)
	}
}

func TestRateOfARespondent(t *testing.T) {
	w := newWorld(t)
	w.options.Limits = serve.Visits{Rate: 0.001, Burst: 2}
	w.restart()
	asks, _ := w.ask(token.Seed{1})
	for range 2 {
		if _, p := w.issue("alice", asks); p != nil {
			t.Error(p)
		}
	}
	_, p := w.issue("alice", asks)
	wants(t, p, wire.RateLimited, "the third")
	if _, p := w.issue("bob", asks); p != nil {
		t.Errorf("another respondent: %v", p)
	}
}

func BenchmarkIssue(b *testing.B) {
	w := newWorld(b)
	w.options.Limits = serve.Visits{Rate: 1e9, Burst: 1 << 30}
	w.restart()
	asks, _ := w.ask(token.Seed{1})
	asks.Asks = asks.Asks[:1]
	for b.Loop() {
		if _, p := w.issue("alice", asks); p != nil {
			b.Fatal(p)
		}
	}
}
