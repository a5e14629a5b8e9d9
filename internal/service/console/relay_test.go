package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/token"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// carriers are the services behind a room, by the hosts that the plan names. All say that the plan was
// withdrawn, and none shows its publisher's word: so a device asks all that it ever asks.
type carriers struct {
	seen    []string // method and address
	shown   []string // credentials and cookies
	refused error
}

func (s *carriers) RoundTrip(r *http.Request) (*http.Response, error) {
	s.seen, s.shown = append(s.seen, r.Method+" "+r.URL.String()), append(s.shown, r.Header.Get("Authorization")+r.Header.Get("Cookie"))
	w := httptest.NewRecorder()
	w.Header().Set("Set-Cookie", "no=1")
	web.WriteProblem(w, s.refused)
	return w.Result(), nil
}

// relayed is the transport of a device in a room: what relay.js does.
type relayed struct {
	room    http.Handler
	phone   *http.Cookie
	carried []string
	refused []string // by the room itself
}

func (d *relayed) Do(_ context.Context, r client.Request) (client.Response, error) {
	at := slices.IndexFunc(d.carried, func(base string) bool { return strings.HasPrefix(r.URL, base+"/") })
	if at < 0 {
		return client.Response{}, errors.New("no service of the room")
	}
	path := "/answer/relay/" + strconv.Itoa(at) + strings.TrimPrefix(r.URL, d.carried[at])
	ask, w := httptest.NewRequest(r.Method, path, bytes.NewReader(r.Body)), httptest.NewRecorder()
	ask.Header.Set("Content-Type", r.Type)
	ask.Header.Set("Authorization", r.Authorization)
	ask.Header.Set("Cookie", "confetti-console=x")
	ask.AddCookie(d.phone)
	d.room.ServeHTTP(w, ask)
	answer := w.Result()
	if answer.Header.Get("Content-Type") != wire.ProblemType || len(answer.Cookies()) > 0 {
		d.refused = append(d.refused, r.Method+" "+r.URL)
	}
	return client.Response{Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"), Body: answer.Body}, nil
}

// joins has a phone join, and returns its cookie.
func joins(t *testing.T, c *Console) *http.Cookie {
	t.Helper()
	res, text := post(t, c, "/answer/join", nil, nil)
	if res.StatusCode != http.StatusOK || len(res.Cookies()) != 1 {
		t.Fatalf("joining: %d %s", res.StatusCode, text)
	}
	return res.Cookies()[0]
}

// A phone that has joined has one body under way, which is carried as it comes; a stranger has none. An
// answer that breaks off is broken off, and a body that is too long is not begun.
func TestARoomCarriesOneBodyAtATime(t *testing.T) {
	c, signed, _ := live(t, routes()["mixed"], false)
	c.o.Poll.Bearers = []string{"one", "two"}
	first, second := joins(t, c), joins(t, c)
	arrived, proceed := make(chan string), make(chan struct{})
	c.o.Poll.Carry = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		begun := make([]byte, 5)
		if _, err := io.ReadFull(r.Body, begun); err != nil {
			return nil, err
		}
		arrived <- string(begun) // though the rest is not there yet
		<-proceed
		rest, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", "x/y")
		io.WriteString(w, string(begun)+string(rest))
		return w.Result(), nil
	})}
	path := "/answer/relay/0" + wire.ContributionPath(signed.Plan.Hash(), 0, [32]byte{})
	send := func(phone *http.Cookie, body io.Reader) *http.Response {
		r := httptest.NewRequest(http.MethodPut, path, body)
		if phone != nil {
			r.AddCookie(phone)
		}
		res, text := answered(t, c, r)
		res.Body = io.NopCloser(strings.NewReader(text))
		return res
	}
	code := func(res *http.Response) wire.Code {
		p := web.ReadProblem(res)
		if p == nil {
			t.Fatalf("answered %d", res.StatusCode)
		}
		return p.Code
	}
	if got := code(send(nil, strings.NewReader("sealed"))); got != wire.Unauthenticated {
		t.Errorf("a stranger: %s", got)
	}
	if got := code(send(&http.Cookie{Name: first.Name, Value: "x"}, strings.NewReader("sealed"))); got != wire.Unauthenticated {
		t.Errorf("who made a cookie up: %s", got)
	}
	if got := code(send(first, bytes.NewReader(make([]byte, maxRelayed+1)))); got != wire.TooLarge {
		t.Errorf("a body of too many bytes: %s", got)
	}
	var both sync.WaitGroup
	under := func(phone *http.Cookie) *io.PipeWriter {
		from, to := io.Pipe()
		both.Go(func() {
			if res := send(phone, from); res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "x/y" {
				t.Errorf("a body under way is answered %d %v", res.StatusCode, res.Header)
			}
		})
		io.WriteString(to, "begin")
		if got := <-arrived; got != "begin" {
			t.Errorf("%q arrived", got)
		}
		return to
	}
	one := under(first)
	if got := code(send(first, strings.NewReader("sealed"))); got != wire.Overloaded {
		t.Errorf("a second body of one phone: %s", got)
	}
	two := under(second)
	close(proceed)
	for _, to := range []*io.PipeWriter{one, two} {
		io.WriteString(to, "rest")
		to.Close()
	}
	both.Wait()
	c.o.Poll.Carry = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		res := w.Result()
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errors.New("reset"))))
		return res, nil
	})}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("an answer that breaks off ends with %v", p)
		}
	}()
	send(first, strings.NewReader("sealed"))
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// live is a room of a plan whose parties have keys and addresses, with an issuer or without.
func live(t *testing.T, p plan.Plan, issuer bool) (*Console, plan.Signed, *carriers) {
	t.Helper()
	p = placed(p)
	p.Times = plan.Times{Opens: time.Now().Add(-time.Hour).UTC().Truncate(time.Second), Closes: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	named := &plan.Party{Operator: "Registry", URL: "https://issuer.example"}
	parties := []*plan.Party{&p.Analyzer}
	if s := p.Route.Sum; s != nil {
		s.Leader.URL, s.Helper.URL = "https://leader.example", "https://helper.example/"
		if parties = append(parties, &s.Leader, &s.Helper); issuer {
			s.Issuer = named
		}
	} else {
		for h := range p.Route.Mix.Instances[0].Hops {
			parties = append(parties, &p.Route.Mix.Instances[0].Hops[h])
		}
		if issuer {
			p.Route.Mix.Issuer = named
		}
	}
	for i, party := range parties {
		key, err := envelope.GenerateKey("x25519")
		if err != nil {
			t.Fatal(err)
		}
		if party.Key = key.Public().String(); issuer && i > 0 {
			key, err := token.GenerateKey()
			if err != nil {
				t.Fatal(err)
			}
			party.Tokens = key.Public().String()
		}
	}
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	signed := plan.Sign(example.Design(t, p), key.Private())
	behind := &carriers{refused: wire.Problemf(wire.PlanWithdrawn, "withdrawn")}
	room := &Poll{
		Signed: signed, Address: "https://here.example/answer", Carry: &http.Client{Transport: behind}, Bearers: []string{"phone"},
		Device: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	c, err := New(Options{Analyzer: base, Hosts: hosts, Public: &services{}, Poll: room})
	if err != nil {
		t.Fatal(err)
	}
	return c, signed, behind
}

// routes are the plans of live polls.
func routes() map[string]plan.Plan {
	added := example.OneHot(example.Drinks())
	added.Randomizer = plan.Randomizer{Name: plan.RandomizerNone}
	replacement := example.Histogram(added)
	replacement.Budget.Adjacency = "replacement"
	return map[string]plan.Plan{
		"mixed":            example.Histogram(example.OneHot(example.Drinks())),
		"summed":           example.Summed(replacement, plan.NoiseAggregators),
		"summed, of flips": example.Summed(example.Histogram(example.OneHot(example.Drinks())), plan.NoiseDevices),
	}
}

// A room carries what a device of its plan asks, each request of it, and nothing else of any service.
func TestARoomCarriesWhatADeviceAsks(t *testing.T) {
	for name, p := range routes() {
		for _, issuer := range []bool{false, true} {
			c, signed, behind := live(t, p, issuer)
			_, script := get(t, c, "/answer/device/relay.js")
			_, list, _ := strings.Cut(script, "const carried = ")
			list, _, _ = strings.Cut(list, ";\n")
			device := &relayed{room: c, phone: joins(t, c)}
			if err := json.Unmarshal([]byte(list), &device.carried); err != nil {
				t.Fatal(err)
			}
			o := client.Options{Publishers: plan.Trust(signed.Signers()...), Store: native.Folder{Path: filepath.Join(t.TempDir(), "device")}, Transport: device, Bearer: "phone", Delay: client.NoDelay}
			if err := client.Consent(o.Store, true); err != nil {
				t.Fatal(err)
			}
			d, err := client.Open(signed, o)
			if err != nil {
				t.Fatal(name, err)
			}
			err = d.Report(t.Context(), histogram.Answers{Values: []any{"tea"}})
			if waits := new(client.WaitingError); !errors.As(err, &waits) {
				t.Errorf("%s: %v", name, err)
			}
			if len(device.refused) > 0 {
				t.Errorf("%s: the room does not carry %q", name, device.refused)
			}
			// Asked of an issuer for tokens, it has nothing to hand over; without, it hands over.
			want := []string{"GET https://hop-1.example" + wire.WithdrawalPath(signed.Plan.Hash())}
			takes := []string{"PUT https://hop-1.example" + wire.PlanPath(signed.Plan.Hash()) + "/instances/0/contributions/{id}"}
			if signed.Plan.Route.Sum != nil {
				tasks, err := task.All(signed.Plan)
				if err != nil {
					t.Fatal(err)
				}
				want[0] = strings.Replace(want[0], "hop-1", "leader", 1)
				takes[0] = "POST https://leader.example" + dap.ReportsPath(tasks[0].ID)
			}
			if issuer {
				want = append(want, "POST https://issuer.example"+wire.TokensPath(signed.Plan.Hash()), "GET https://issuer.example"+wire.WithdrawalPath(signed.Plan.Hash()))
			} else {
				want = append(want, takes...)
			}
			for i, one := range behind.seen {
				if before, _, contributes := strings.Cut(one, "/contributions/"); contributes {
					behind.seen[i] = before + "/contributions/{id}"
				}
				if strings.Contains(behind.shown[i], "confetti-console") {
					t.Errorf("%s: %s is shown a cookie", name, one)
				}
			}
			slices.Sort(want)
			slices.Sort(behind.seen)
			seen := slices.Compact(behind.seen) // an issuer that has none is asked before the draw, and once more after it
			if !slices.Equal(seen, want) {
				t.Errorf("%s, issuer %v: carried was\n%q, want\n%q", name, issuer, seen, want)
			}
			var allowed []string
			for _, service := range c.carried {
				for _, pattern := range service.asks {
					method, path, _ := strings.Cut(pattern, " ")
					allowed = append(allowed, method+" "+service.url+path)
				}
			}
			if issuer {
				want = append(want, takes...)
			}
			slices.Sort(want)
			slices.Sort(allowed)
			if !slices.Equal(allowed, want) {
				t.Errorf("%s, issuer %v: may be carried:\n%q, want\n%q", name, issuer, allowed, want)
			}
		}
	}
}

// What services do for each other, for operators and for everybody else is no phone's, nor is another plan.
func TestARoomCarriesNothingElse(t *testing.T) {
	for name, p := range routes() {
		c, signed, behind := live(t, p, true)
		phone := joins(t, c)
		hash := signed.Plan.Hash()
		id := strings.Repeat("0", 64)
		var other [32]byte
		paths := []string{
			"/status.json", "/metrics", "/readyz", "/session", "/drain", "/v1/plans", "/hpke_config", "/",
			wire.PlanPath(hash), wire.StatusPath(hash), wire.ClosePath(hash), wire.BatchPath(hash, 0, 0, 0), wire.TokensPath(other), wire.WithdrawalPath(other),
			wire.ContributionPath(other, 0, other), wire.ContributionPath(hash, 1, other), wire.PlanPath(hash) + "/instances/0/contributions/" + id[1:], wire.PlanPath(hash) + "/instances/0/contributions/..%2F" + id,
			wire.PlanPath(hash) + "/instances/0/contributions/%2E%2E", wire.WithdrawalPath(hash) + "/", wire.WithdrawalPath(hash) + "%2F..",
			dap.ReportsPath(dap.TaskID{}), dap.AggregationPath(dap.TaskID{}), dap.SharesPath(dap.TaskID{}), dap.CollectionPath(dap.TaskID{}),
		}
		if signed.Plan.Route.Sum != nil {
			tasks, err := task.All(signed.Plan)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, dap.AggregationPath(tasks[0].ID), dap.SharesPath(tasks[0].ID), dap.CollectionPath(tasks[0].ID), "/tasks/"+tasks[0].ID.String())
		}
		for _, service := range []string{"0", "1", "2", "3", "99", "00", "x", "-1"} {
			for _, path := range paths {
				for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
					r := httptest.NewRequest(method, "/answer/relay/"+service+path, io.NopCloser(strings.NewReader("sealed")))
					r.AddCookie(phone)
					if res, _ := answered(t, c, r); res.StatusCode < 300 {
						t.Errorf("%s: %s %s at service %s: %d", name, method, path, service, res.StatusCode)
					}
				}
			}
		}
		if len(behind.seen) > 0 {
			t.Errorf("%s: carried was %q", name, behind.seen)
		}
	}
}
