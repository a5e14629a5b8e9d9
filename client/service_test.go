package client_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/example"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

const bearer = "device-17"

// service stands in for the entry hops and the issuer of a plan: it keeps to the
// wire format and takes everything down that it is told.
type service struct {
	*httptest.Server
	plan plan.Plan
	keys map[token.Context]token.PrivateKey

	mu       sync.Mutex
	kept     map[[32]byte]envelope.Form // acknowledged, by id
	cover    int
	requests []request
	fail     func(*http.Request) error // before anything is looked at; nil: never

	withdrawal []byte // what it shows of the plan; nil: nothing
}

type request struct {
	path          string
	authorization string
	certificate   bool // the device showed one
	body          []byte
}

// newService serves the plan, whose addresses and token keys it fills in.
func newService(t testing.TB, p *plan.Plan, tokens bool) *service {
	t.Helper()
	s := &service{kept: map[[32]byte]envelope.Form{}, keys: map[token.Context]token.PrivateKey{}}
	mux := http.NewServeMux()
	mux.HandleFunc(wire.ContributionPattern, s.answer(s.contribution))
	mux.HandleFunc(wire.TokensPattern, s.answer(s.tokens))
	mux.HandleFunc(wire.PlanPattern, s.answer(func(*http.Request, []byte) (int, []byte, error) {
		return http.StatusOK, sign(s.plan).Marshal(), nil
	}))
	mux.HandleFunc(wire.WithdrawalPattern, s.answer(func(*http.Request, []byte) (int, []byte, error) {
		if s.withdrawal == nil {
			return 0, nil, wire.Problemf(wire.NotFound, "it was not withdrawn")
		}
		return http.StatusOK, s.withdrawal, nil
	}))
	s.Server = httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	keys := map[token.Context]token.PrivateKey{}
	for i, in := range p.Route.Mix.Instances {
		for h := range in.Hops {
			in.Hops[h].URL = s.URL
			if tokens {
				key, err := token.GenerateKey()
				if err != nil {
					t.Fatal(err)
				}
				keys[token.Context{Instance: uint16(i), Hop: uint8(h)}] = key
				in.Hops[h].Tokens = key.Public().String()
			}
		}
	}
	if tokens {
		p.Route.Mix.Issuer = &plan.Party{Operator: "Issuer", URL: s.URL}
	}
	s.plan = *p
	for c, key := range keys {
		c.Plan = p.Hash()
		s.keys[c] = key
	}
	return s
}

func (s *service) answer(f func(*http.Request, []byte) (int, []byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, request{r.URL.Path, r.Header.Get("Authorization"), len(r.TLS.PeerCertificates) > 0, body})
		if s.fail != nil {
			err = s.fail(r)
		}
		status, answer := 0, []byte(nil)
		if err == nil {
			status, answer, err = f(r, body)
		}
		if err != nil {
			web.WriteProblem(w, err)
			return
		}
		w.WriteHeader(status)
		w.Write(answer)
	}
}

func (s *service) contribution(r *http.Request, body []byte) (int, []byte, error) {
	hash, err := wire.PathPlan(r)
	if err != nil {
		return 0, nil, err
	}
	id, err := wire.PathID(r)
	if err != nil {
		return 0, nil, err
	}
	instance, err := wire.PathInstance(r)
	if err != nil || hash != s.plan.Hash() || int(instance) >= len(s.plan.Route.Mix.Instances) {
		return 0, nil, wire.Problemf(wire.UnknownPlan, "another plan or instance")
	}
	if key, demanded := s.keys[token.Context{Plan: hash, Instance: instance}]; demanded {
		spent, ok := tokenwire.ParseAuthorization(r.Header.Get("Authorization"))
		if !ok || key.Public().Verify(token.Context{Plan: hash, Instance: instance}, spent) != nil {
			return 0, nil, wire.Problemf(wire.TokenRefused, "not a token of this hop")
		}
	} else if r.Header.Get("Authorization") != "Bearer "+bearer {
		return 0, nil, wire.Problemf(wire.Unauthenticated, "no bearer token")
	}
	if id == wire.CoverID(body) {
		s.cover++
		return http.StatusCreated, nil, nil
	}
	form, _, err := envelope.ParseForm(body)
	if err != nil || id != wire.ContributionID(body) || form != example.Form(s.plan, int(instance)) {
		return 0, nil, wire.Problemf(wire.ContributionRefused, "does not fit")
	}
	if _, again := s.kept[id]; again {
		return http.StatusOK, nil, nil
	}
	for _, other := range s.kept {
		if other.Instance == instance {
			return 0, nil, wire.Problemf(wire.AlreadyContributed, "another one is here")
		}
	}
	s.kept[id] = form
	return http.StatusCreated, nil, nil
}

func (s *service) tokens(r *http.Request, body []byte) (int, []byte, error) {
	if r.Header.Get("Authorization") != "Bearer "+bearer {
		return 0, nil, wire.Problemf(wire.Unauthenticated, "no bearer token")
	}
	ask, err := tokenwire.ParseRequest(body)
	if err != nil {
		return 0, nil, wire.Problemf(wire.BadRequest, "not a token request")
	}
	var response tokenwire.Response
	for _, a := range ask.Asks {
		answer, err := s.keys[token.Context{Plan: s.plan.Hash(), Instance: a.Instance, Hop: a.Hop}].Sign(a.Blinded)
		if err != nil {
			return 0, nil, err
		}
		response.Answers = append(response.Answers, answer)
	}
	return http.StatusOK, response.Marshal(), nil
}

func (s *service) counts() (kept, requests, cover int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept), len(s.requests), s.cover
}

// reset forgets what it was told.
func (s *service) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.cover, s.requests = map[[32]byte]envelope.Form{}, 0, nil
}

func (s *service) setFail(f func(*http.Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = f
}

func (s *service) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

// publisher is a key for tests: its seed is all ones and known to everybody.
var publisher = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))

func sign(p plan.Plan) plan.Signed { return plan.Sign(p, publisher) }

// device is a folder that has opted in, with the options to open clients on it.
func device(t testing.TB, s *service) client.Options {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "device")
	if err := client.Consent(native.Folder{Path: dir}, true); err != nil {
		t.Fatal(err)
	}
	return client.Options{
		Publishers: plan.Trust(plan.Publisher(publisher.Public().(ed25519.PublicKey))), Store: native.Folder{Path: dir}, Bearer: bearer, Transport: &native.Transport{Roots: s.roots()},
		Caps: client.Caps{Plan: client.Cap{Epsilon: 100}}, Delay: client.NoDelay,
	}
}

// dir is the folder of a device.
func dir(o client.Options) string { return o.Store.(native.Folder).Path }

// opened is a client whose waits pass at once.
func opened(t testing.TB, p plan.Plan, o client.Options) *client.Client {
	t.Helper()
	c, err := client.Open(sign(p), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.SetTime(time.Now, nil)
	return c
}

func ledger(t testing.TB, o client.Options) *client.Ledger {
	t.Helper()
	l, err := client.ReadLedger(o.Store)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// published is what a program is given from outside, for an example.
func published() (address, key, credential string, authorities *x509.CertPool, done func()) {
	tb := &outside{}
	p, _ := sample(tb, "rr", 1, 2)
	s := newService(tb, &p, false)
	return s.URL + wire.PlanPath(p.Hash()), plan.Publisher(publisher.Public().(ed25519.PublicKey)), bearer, s.roots(), func() {
		for _, f := range tb.cleanups {
			f()
		}
	}
}

// outside stands in for a test where there is none.
type outside struct {
	testing.TB
	cleanups []func()
}

func (*outside) Helper()            {}
func (*outside) Fatal(a ...any)     { panic(fmt.Sprint(a...)) }
func (o *outside) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
