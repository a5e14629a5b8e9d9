package serve

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/ohttp"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/relaytest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

// gatewayKeys is a folder with so many keys of gateways, and their public halves.
func gatewayKeys(t testing.TB, n int) (folder string, public []string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "gateway")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		public = append(public, addGatewayKey(t, folder, string(rune('a'+i))))
	}
	return folder, public
}

func addGatewayKey(t testing.TB, folder, name string) (public string) {
	t.Helper()
	key, err := envelope.GenerateKey(envelope.X25519)
	if err == nil {
		err = partykey.CreateOpening(filepath.Join(folder, name+".json"), key, "gateway")
	}
	if err != nil {
		t.Fatal(err)
	}
	return key.Public().String()
}

// behind is a service with a gateway, and a relay before it that has an address of its own.
type behind struct {
	*started
	relay  *relaytest.Relay
	at     *httptest.Server
	key    ohttp.Key
	folder string
}

func startBehind(t *testing.T, c Config, relays ...string) *behind {
	t.Helper()
	folder, public := gatewayKeys(t, 1)
	var err error
	if c.gateway, err = openGateway(Path(folder), relays); err != nil {
		t.Fatal(err)
	}
	c.Limits.Relays = c.gateway.relays
	s := start(t, c)
	b := &behind{started: s, folder: folder, relay: &relaytest.Relay{Gateways: map[string]string{"/north": s.url + "/.well-known/ohttp-gateway"}, Client: relaytest.From("127.0.0.2", s.ca.Pool())}}
	b.at = httptest.NewTLSServer(b.relay)
	t.Cleanup(b.at.Close)
	t.Cleanup(b.relay.Client.CloseIdleConnections)
	if b.key, err = ohttp.ParseKey(public[0]); err != nil {
		t.Fatal(err)
	}
	return b
}

// asks sends a request by the relay, and returns what the service answers.
func (b *behind) asks(r ohttp.Request) (ohttp.Response, error) {
	sealed, e, err := b.key.Encapsulate(r)
	if err != nil {
		return ohttp.Response{}, err
	}
	answer, err := b.at.Client().Post(b.at.URL+"/north", ohttp.RequestType, bytes.NewReader(sealed))
	if err != nil {
		return ohttp.Response{}, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status + ": " + string(body))
	}
	if err != nil {
		return ohttp.Response{}, err
	}
	return e.Open(body)
}

const putContribution = "/v1/plans/0/instances/0/contributions/1"

// visited is a service that devices come to, and what its handler saw.
type visited struct {
	mu   sync.Mutex
	seen []*http.Request
	got  []string
	wait chan struct{} // closed: nobody waits; nil: nobody does
}

func (v *visited) config() Config {
	return Config{
		Private: map[string]bool{wire.ContributionPattern: true},
		Routes: map[string]Handler{
			wire.ContributionPattern: func(w http.ResponseWriter, r *http.Request) error {
				if err := Enter(r, Respondent{}); err != nil {
					return err
				}
				body, err := ReadBody(w, r, 1<<20)
				if err != nil {
					return err
				}
				v.mu.Lock()
				v.seen, v.got = append(v.seen, r), append(v.got, string(body))
				v.mu.Unlock()
				if v.wait != nil {
					<-v.wait
				}
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusCreated)
				_, err = w.Write([]byte("kept"))
				return err
			},
			wire.WithdrawalPattern: func(w http.ResponseWriter, r *http.Request) error {
				return wire.Problemf(wire.NotFound, "not withdrawn")
			},
			wire.PlansPattern:    func(w http.ResponseWriter, r *http.Request) error { return WriteJSON(w, []string{}) },
			wire.RegisterPattern: func(w http.ResponseWriter, r *http.Request) error { return nil },
		},
	}
}

func brought(method, path string) ohttp.Request {
	return ohttp.Request{Method: method, Scheme: "https", Authority: "north.example", Path: path, Fields: []ohttp.Field{
		{Name: "authorization", Value: "Bearer x"}, {Name: "content-type", Value: wire.ContributionType}, {Name: "x-forwarded-for", Value: "192.0.2.7"}, {Name: "cookie", Value: "me"},
	}, Content: []byte("an answer")}
}

// A handler answers what comes by a relay as it does what comes by itself, and sees nothing of the way.
func TestAGatewayAnswersWhatDevicesSend(t *testing.T) {
	leakFree(t)
	v := &visited{}
	b := startBehind(t, v.config())
	said, err := b.asks(brought("PUT", putContribution))
	if err != nil || said.Status != http.StatusCreated || string(said.Content) != "kept" || said.Get("retry-after") != "7" {
		t.Fatal(err, said)
	}
	r := v.seen[0]
	if v.got[0] != "an answer" || r.RemoteAddr != "" || r.TLS != nil || r.Host != "" || len(r.Header) != 2 || r.Header.Get("Authorization") != "Bearer x" || r.PathValue("id") != "1" {
		t.Errorf("the handler sees %q of %+v", v.got, r)
	}
	for _, c := range b.relay.Carried() {
		for _, secret := range []string{"an answer", "contributions", "Bearer x", "kept"} {
			if bytes.Contains(c.Request, []byte(secret)) || bytes.Contains(c.Response, []byte(secret)) {
				t.Errorf("the relay reads %q", secret)
			}
		}
	}
}

// What is no path of devices is not there by a relay, whoever's token is shown; what names another host is
// answered here and sent to nobody.
func TestAGatewayIsNoProxy(t *testing.T) {
	leakFree(t)
	watching, token := watchers(t)
	c := (&visited{}).config()
	c.Operators = watching
	b := startBehind(t, c)
	var elsewhere int
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, path := range []string{
		"GET /metrics", "GET /status.json", "GET /", "POST /drain", "POST /alarms", "POST /session", "GET /v1/plans", "PUT /v1/plans/0", "GET /healthz",
		"POST /.well-known/ohttp-gateway", "GET /.well-known/ohttp-gateway", "OPTIONS " + putContribution, "GET //" + other.Listener.Addr().String() + "/",
	} {
		method, path, _ := strings.Cut(path, " ")
		r := brought(method, path)
		r.Authority, r.Fields[0].Value = other.Listener.Addr().String(), "Bearer "+token
		if said, err := b.asks(r); err != nil || said.Status != http.StatusNotFound && said.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %v %d %.100s", method, path, err, said.Status, said.Content)
		}
	}
	for name, r := range map[string]ohttp.Request{
		"in the clear": {Method: "PUT", Scheme: "http", Path: putContribution}, "an address for a path": {Method: "GET", Scheme: "https", Path: other.URL + "/"}, "a star": {Method: "OPTIONS", Scheme: "https", Path: "*"},
	} {
		if said, err := b.asks(r); err != nil || said.Status != http.StatusBadRequest {
			t.Errorf("%s: %v %d %.100s", name, err, said.Status, said.Content)
		}
	}
	if elsewhere > 0 {
		t.Errorf("%d requests were passed on", elsewhere)
	}
	if said, err := b.asks(brought("GET", "/v1/plans/0/withdrawal")); err != nil || said.Status != http.StatusNotFound || !bytes.Contains(said.Content, []byte("not withdrawn")) {
		t.Error("a device is not told of withdrawals", err, said)
	}
}

// What is wrong with the sealed request itself is said outside, and nothing of what would be within.
func TestWhatAGatewayCannotOpen(t *testing.T) {
	leakFree(t)
	b := startBehind(t, (&visited{}).config())
	_, public := gatewayKeys(t, 1)
	stranger, err := ohttp.ParseKey(public[0])
	if err != nil {
		t.Fatal(err)
	}
	sealed, _, err := stranger.Encapsulate(brought("PUT", putContribution))
	if err != nil {
		t.Fatal(err)
	}
	const path = "/.well-known/ohttp-gateway"
	for name, body := range map[string][]byte{"another gateway's": sealed, "nothing": nil, "noise": bytes.Repeat([]byte("x"), 300)} {
		_, text, p := b.do("POST", path, bytes.NewReader(body), "Content-Type", ohttp.RequestType)
		if p == nil || p.Code != wire.BadRequest || p.Type != ohttp.KeyProblem {
			t.Errorf("%s: %.200s", name, text)
		}
	}
	b.wants(wire.UnsupportedMediaType, "POST", path, bytes.NewReader(sealed), "Content-Type", "application/octet-stream")
	b.wants(wire.TooLarge, "POST", path, bytes.NewReader(make([]byte, ohttp.MaxRequest+1)), "Content-Type", ohttp.RequestType)
	// Sealed well, and no request.
	private := b.gatewayKey(t)
	if said, err := b.asks(ohttp.Request{Method: "PUT", Scheme: "https", Path: "/", Fields: []ohttp.Field{{Name: "Upper", Value: "x"}}}); err != nil || said.Status != http.StatusBadRequest {
		t.Error(err, said)
	}
	// The published keys are those of the folder.
	answer, text, _ := b.do("GET", path, nil)
	if answer.Header.Get("Content-Type") != ohttp.KeysType || text != string(ohttp.Keys([]ohttp.PrivateKey{private})) {
		t.Errorf("published: %x", text)
	}
}

// gatewayKey is the one key of the folder.
func (b *behind) gatewayKey(t testing.TB) ohttp.PrivateKey {
	t.Helper()
	keys, err := readGatewayKeys(b.folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		return key
	}
	return ohttp.PrivateKey{}
}

// The number of respondents is private, and so is that of what relays bring.
func TestAGatewayCountsNobody(t *testing.T) {
	leakFree(t)
	b := startBehind(t, (&visited{}).config())
	for range 3 {
		if _, err := b.asks(brought("PUT", putContribution)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.asks(brought("GET", "/v1/plans/0/withdrawal")); err != nil {
		t.Fatal(err)
	}
	_, text, _ := b.do("GET", "/metrics", nil)
	if strings.Contains(text, "ohttp-gateway") || strings.Contains(text, "contributions") {
		t.Error("requests by a relay are counted")
	}
	if !strings.Contains(text, "withdrawal") {
		t.Error("the test sees no counts")
	}
}

// crowded sends so many requests at once by the relay, whose handlers wait for each other, and returns how many
// were let in.
func crowded(t *testing.T, n int, relays ...string) (b *behind, v *visited, in int) {
	t.Helper()
	v = &visited{wait: make(chan struct{})}
	c := v.config()
	c.Limits = Limits{Requests: 128, Relayed: 48}
	b = startBehind(t, c, relays...)
	answers := make(chan int, n)
	for range n {
		go func() {
			r := brought("PUT", putContribution)
			sealed, _, err := b.key.Encapsulate(r)
			if err != nil {
				t.Error(err)
			}
			answer, err := b.at.Client().Post(b.at.URL+"/north", ohttp.RequestType, bytes.NewReader(sealed))
			if err != nil {
				answers <- 0
				return
			}
			answer.Body.Close()
			answers <- answer.StatusCode
		}()
	}
	inside := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.seen)
	}
	refused := 0
	for inside()+refused < n {
		select {
		case status := <-answers:
			if status != http.StatusServiceUnavailable {
				t.Errorf("refused with %d", status)
			}
			refused++
		case <-time.After(time.Millisecond):
		}
	}
	in = inside()
	// Whoever comes by itself finds a place, however many the relay has.
	if _, text, p := b.do("GET", "/v1/plans", nil); p != nil {
		t.Errorf("a stranger is kept out: %s", text)
	}
	close(v.wait)
	for range in {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("answered with %d", status)
		}
	}
	return b, v, in
}

// All devices behind a relay have one address. Those of a relay that the configuration names have the places
// that it says, and not the share of one address.
func TestARelaysDevicesAreNotOneDevice(t *testing.T) {
	leakFree(t)
	if _, _, in := crowded(t, 60, "127.0.0.2/32"); in != 48 {
		t.Errorf("%d of 60 had places, want the relay's 48", in)
	}
	// The twin: nobody has said whose the address is, and it has its share of the strangers' places.
	if _, _, in := crowded(t, 60); in != 8 {
		t.Errorf("%d of 60 had places, want an address's 8", in)
	}
}

func TestGatewaysAreRefused(t *testing.T) {
	empty, _ := gatewayKeys(t, 0)
	one, public := gatewayKeys(t, 2)
	broken, _ := gatewayKeys(t, 1)
	if err := os.WriteFile(filepath.Join(broken, "b.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		folder string
		relays []string
		want   string
	}{
		"no folder":       {"", []string{"203.0.113.0/24"}, "set gateway"},
		"no key":          {empty, nil, "confetti keys new"},
		"a broken key":    {broken, nil, "b.json"},
		"not there":       {filepath.Join(one, "none"), nil, "none"},
		"no network":      {one, []string{"203.0.113.7"}, "203.0.113.7/32"},
		"bits behind it":  {one, []string{"203.0.113.7/24"}, "no network"},
		"everybody":       {one, []string{"0.0.0.0/0"}, "too wide"},
		"half of IPv6":    {one, []string{"8000::/1"}, "too wide"},
		"a host's name":   {one, []string{"relay.example"}, "no network"},
		"one is too wide": {one, []string{"203.0.113.0/24", "10.0.0.0/7"}, "too wide"},
	} {
		if _, err := openGateway(Path(c.folder), c.relays); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if g, err := openGateway("", nil); g != nil || err != nil {
		t.Error(g, err)
	}
	// A service to which no device comes.
	g, err := openGateway(Path(one), []string{"203.0.113.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{gateway: g, Routes: map[string]Handler{wire.PlansPattern: nil}}); err == nil || !strings.Contains(err.Error(), "gateway is for what devices send") {
		t.Error(err)
	}
	// Plans that name a key, old or new, or none.
	relay := func(key string) plan.Party {
		return plan.Party{Operator: "North", Relay: &plan.Relay{Operator: "Hideaway", Key: key}}
	}
	with := Common{gateway: g}
	for i, err := range []error{with.Relayed(relay(public[0])), with.Relayed(relay(public[1])), with.Relayed(plan.Party{}), Common{}.Relayed(plan.Party{})} {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	_, others := gatewayKeys(t, 1)
	for i, err := range []error{with.Relayed(relay(others[0])), Common{}.Relayed(relay(public[0]))} {
		if p, ok := errors.AsType[*wire.Problem](err); !ok || p.Code != wire.PlanRefused || !strings.Contains(p.Detail, "that gateway names") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A new key is taken up beside the old one, and an old one goes, without a restart.
func TestGatewayKeysAreRenewed(t *testing.T) {
	folder, public := gatewayKeys(t, 1)
	g, err := openGateway(Path(folder), nil)
	if err != nil {
		t.Fatal(err)
	}
	known := func() []string {
		g.keys.mu.Lock()
		g.keys.looked = time.Time{} // it looks once a second
		g.keys.mu.Unlock()
		keys, _ := g.keys.get()
		var all []string
		for name := range keys {
			all = append(all, name)
		}
		slices.Sort(all)
		return all
	}
	after := func(n int) {
		t.Helper()
		// A folder's time has the grain of its file system.
		for end := time.Now().Add(10 * time.Second); len(known()) != n && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}
	second := addGatewayKey(t, folder, "b")
	after(2)
	if want := []string{public[0], second}; !slices.Contains(known(), want[0]) || !slices.Contains(known(), want[1]) {
		t.Errorf("known are %v", known())
	}
	if err := os.Remove(filepath.Join(folder, "a.json")); err != nil {
		t.Fatal(err)
	}
	after(1)
	if got := known(); len(got) != 1 || got[0] != second {
		t.Errorf("known are %v", got)
	}
}

// watchers are operators of a service, and the token of one.
func watchers(t testing.TB) (*Bearers, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operators")
	token, err := AddBearer(rng.New(), path, "ada")
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadBearers(path)
	if err != nil {
		t.Fatal(err)
	}
	return all, token
}

// Whatever a relay brings, it allocates no more than any request does: 8 bytes for each of its own.
func TestWhatARelayBringsTakesNoMoreMemory(t *testing.T) {
	folder, public := gatewayKeys(t, 2)
	g, err := openGateway(Path(folder), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := (&visited{}).config()
	c.gateway = g
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ohttp.ParseKey(public[1])
	if err != nil {
		t.Fatal(err)
	}
	good := brought("PUT", putContribution)
	good.Content = make([]byte, 900<<10)
	sealed, _, err := key.Encapsulate(good)
	if err != nil {
		t.Fatal(err)
	}
	header := good
	header.Content, header.Fields = nil, []ohttp.Field{{Name: "x", Value: strings.Repeat("y", 15<<10)}}
	many, _, err := key.Encapsulate(header)
	if err != nil {
		t.Fatal(err)
	}
	noise := append(bytes.Clone(sealed[:7]), make([]byte, 1<<20)...)
	for name, body := range map[string][]byte{"an answer": sealed, "a long field": many, "noise for a key": noise, "noise": noise[7:], "nothing": nil, "a head": sealed[:39]} {
		costlimit.Heap(t, 8, len(body), func() {
			r := httptest.NewRequest("POST", "/.well-known/ohttp-gateway", bytes.NewReader(body))
			r.Header.Set("Content-Type", ohttp.RequestType)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if ok := name == "an answer" || name == "a long field"; ok != (w.Code == http.StatusOK) {
				t.Errorf("%s: %d %.200s", name, w.Code, w.Body)
			}
		})
	}
}
