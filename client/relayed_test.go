package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/ohttp"
	"github.com/confetti-dp/confetti/internal/testkit/relaytest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// hideaway is a relay before a gateway of a stand-in for services.
type hideaway struct {
	*relaytest.Relay
	*service // whose requests are what came through the gateway
	direct   int
	mu       sync.Mutex
}

// within is the address of requests that httptest makes.
const within = "192.0.2.1:1234"

// gatewayKey is a gateway's new key.
func gatewayKey(t testing.TB) (public string, private ohttp.PrivateKey) {
	t.Helper()
	key, err := envelope.GenerateKey(envelope.X25519)
	path := filepath.Join(t.TempDir(), "gateway.json")
	if err == nil {
		err = partykey.CreateOpening(path, key, "gateway")
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := keyfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if private, err = ohttp.NewPrivateKey(f.PublicKey, f.PrivateKey); err != nil {
		t.Fatal(err)
	}
	return f.PublicKey, private
}

// hidden has a plan whose parties are behind a relay, and what they are reached by.
func hidden(t testing.TB, p *plan.Plan, tokens bool) (*hideaway, client.Options) {
	t.Helper()
	h := &hideaway{service: newService(t, p, tokens)}
	public, private := gatewayKey(t)
	services := h.service.Config.Handler
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sealed, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		asked, e, err := ohttp.Decapsulate([]ohttp.PrivateKey{private}, sealed)
		if err != nil {
			p := wire.Problemf(wire.BadRequest, "%w", err)
			p.Type = ohttp.KeyProblem
			web.WriteProblem(w, p)
			return
		}
		inner := httptest.NewRequest(asked.Method, "https://"+asked.Authority+asked.Path, bytes.NewReader(asked.Content))
		for _, f := range asked.Fields {
			inner.Header.Add(f.Name, f.Value)
		}
		answer := httptest.NewRecorder()
		services.ServeHTTP(answer, inner)
		said := ohttp.Response{Status: answer.Code, Content: answer.Body.Bytes(), Fields: []ohttp.Field{{Name: "content-type", Value: answer.Header().Get("Content-Type")}}}
		body, err := e.Seal(said)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", ohttp.ResponseType)
		w.Write(body)
	}))
	t.Cleanup(gateway.Close)
	h.service.setFail(func(r *http.Request) error {
		if r.RemoteAddr == within {
			return nil
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.direct++
		return wire.Problemf(wire.WrongRole, "nobody is to come here by itself")
	})
	h.Relay = &relaytest.Relay{Gateways: map[string]string{"/north": gateway.URL}, Client: gateway.Client()}
	at := httptest.NewTLSServer(h.Relay)
	t.Cleanup(at.Close)
	for i := range p.Route.Mix.Instances {
		p.Route.Mix.Instances[i].Hops[0].Relay = &plan.Relay{Operator: "Hideaway", URL: at.URL + "/north", Key: public}
	}
	if p.Route.Mix.Issuer != nil {
		p.Route.Mix.Issuer.Relay = &plan.Relay{Operator: "Hideaway", URL: at.URL + "/north", Key: public}
	}
	for c, key := range h.keys {
		delete(h.keys, c)
		c.Plan = p.Hash()
		h.keys[c] = key
	}
	h.service.plan = *p
	o := device(t, h.service)
	transport := o.Transport.(interface{ CloseIdleConnections() })
	t.Cleanup(transport.CloseIdleConnections)
	return h, o
}

// came are how many requests went to the services past the relay.
func (h *hideaway) came() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.direct
}

// Of an answer whose plan names a relay the services see what they always see, but for where it comes from; the
// relay sees where it comes from, and nothing else.
func TestAnAnswerGoesByTheRelay(t *testing.T) {
	for _, tokens := range []bool{false, true} {
		p, _ := sample(t, "rr", 2, 2)
		h, o := hidden(t, &p, tokens)
		c := opened(t, p, o)
		if err := c.Report(t.Context(), value(1)); err != nil {
			t.Fatal(err)
		}
		kept, requests, _ := h.counts()
		if kept != 1 || h.came() != 0 || requests != len(h.Carried()) {
			t.Errorf("%d are kept, %d of %d requests came by themselves", kept, h.came(), requests)
		}
		for _, carried := range h.Carried() {
			if carried.From != "127.0.0.1" || carried.Certificate || carried.Header.Get("Authorization") != "" || carried.Header.Get("Cookie") != "" {
				t.Errorf("the relay is shown %+v", carried.Header)
			}
			for _, r := range h.service.requests {
				for _, secret := range []string{r.path, r.authorization, string(r.body[:min(len(r.body), 64)])} {
					if secret != "" && bytes.Contains(carried.Request, []byte(secret)) {
						t.Errorf("the relay reads %.40q", secret)
					}
				}
			}
		}
		if err := c.Cover(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Cover has the length of an answer, at the relay too.
		var lengths []int
		for i, r := range h.service.requests {
			if strings.Contains(r.path, "contributions") {
				lengths = append(lengths, len(h.Carried()[i].Request))
			}
		}
		if len(lengths) != 2 || lengths[0] != lengths[1] || h.came() != 0 {
			t.Errorf("lengths %v, and %d came by themselves", lengths, h.came())
		}
	}
}

// A relay that does not carry, or lies, delays an answer. It has nobody come by themselves, and nobody give up.
func TestNothingGoesPastTheRelay(t *testing.T) {
	taken := wire.Problemf(wire.AlreadyContributed, "another one is here")
	for name, says := range map[string]struct {
		says func(http.ResponseWriter)
		want string
	}{
		"it is down":          {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "relay (Hideaway)"},
		"its gateway is":      {func(w http.ResponseWriter) { http.Error(w, "", http.StatusBadGateway) }, "status 502"},
		"it says it is taken": {func(w http.ResponseWriter) { web.WriteProblem(w, taken) }, "status 409"},
		"it says it is kept":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated) }, "status 201"},
		"it seals nothing": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", ohttp.ResponseType)
			w.Write(make([]byte, 400))
		}, "not the gateway's"},
		"it answers for ever": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", ohttp.ResponseType)
			w.Write(make([]byte, ohttp.MaxResponse+1))
		}, "more than"},
		"it sends elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://127.0.0.1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "status 307"},
		"another's key": {func(w http.ResponseWriter) {
			p := wire.Problemf(wire.BadRequest, "key")
			p.Type = ohttp.KeyProblem
			web.WriteProblem(w, p)
		}, "does not have the key"},
	} {
		p, _ := sample(t, "rr", 1, 2)
		h, o := hidden(t, &p, false)
		h.Say(says.says)
		c := opened(t, p, o)
		err := c.Report(t.Context(), value(1))
		waits, ok := errors.AsType[*client.WaitingError](err)
		if !ok || waits.Next.IsZero() || !strings.Contains(err.Error(), says.want) {
			t.Errorf("%s: %v, want %q", name, err, says.want)
		}
		if kept, _, _ := h.counts(); kept != 0 || h.came() != 0 {
			t.Errorf("%s: %d kept, %d came past it", name, kept, h.came())
		}
		h.Say(nil)
		c.SetTime(func() time.Time { return time.Now().Add(time.Hour) }, nil)
		if err := c.Deliver(t.Context()); err != nil {
			t.Errorf("%s, and not any more: %v", name, err)
		}
		if kept, _, _ := h.counts(); kept != 1 || h.came() != 0 {
			t.Errorf("%s, and not any more: %d kept, %d came past it", name, kept, h.came())
		}
	}
}

// An answer to an earlier request, replayed by the relay, is none to a later one.
func TestARelayCannotAnswer(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	h, o := hidden(t, &p, false)
	if err := opened(t, p, o).Report(t.Context(), value(1)); err != nil {
		t.Fatal(err)
	}
	before := h.Carried()[0].Response
	h.service.reset()
	h.Say(func(w http.ResponseWriter) { w.Header().Set("Content-Type", ohttp.ResponseType); w.Write(before) })
	other := device(t, h.service)
	err := opened(t, p, other).Report(t.Context(), value(1))
	if _, ok := errors.AsType[*client.WaitingError](err); !ok || !strings.Contains(err.Error(), "not the gateway's") {
		t.Error(err)
	}
}

// A plan whose gateway's key is none is not answered at all.
func TestABadGatewayKeyIsRefused(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	h, o := hidden(t, &p, false)
	p.Route.Mix.Instances[0].Hops[0].Relay.Key = "x25519:AAAA"
	if _, err := client.Open(sign(p), o); err == nil || !strings.Contains(err.Error(), "gateway of") {
		t.Error(err)
	}
	if h.came() != 0 {
		t.Error("somebody came by itself")
	}
}
