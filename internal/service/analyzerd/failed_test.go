package analyzerd_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dap"
	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/service/analyzerd"
	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/handover"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/internal/wire/web"
	"github.com/confetti-dp/confetti/plan"
)

// reported is how many reports the leader of these tests has of each crowd.
const reported = 1200

// leader answers for the two aggregators of a plan: of each crowd what say gives.
type leader struct {
	t     testing.TB
	c     *collection
	tasks []*task.Task
	keys  [2]relay.SignKey
	say   [2]func(crowd int) *http.Response
	asked [2]int
}

// summed is a plan of two crowds whose answers are summed, and its leader.
func summed(t testing.TB) *leader {
	t.Helper()
	l := &leader{t: t, c: &collection{}}
	h := plan.Histogram{Attributes: []plan.Attribute{example.Drinks()}, Randomizer: plan.Randomizer{Name: plan.RandomizerNone}}
	p := example.Summed(example.Histogram(h), plan.NoiseAggregators)
	p.Budget.Adjacency = "replacement"
	p.Crowd.Names, p.Times.Closes = []string{"hills", "shore"}, closes
	p.Analyzer.URL, p.Route.Sum.Leader.URL, p.Route.Sum.Helper.URL = "https://analyzer.test", "https://leader.test", "https://helper.test"
	for i, party := range []*plan.Party{&p.Route.Sum.Leader, &p.Route.Sum.Helper} {
		key, err := relay.GenerateSignKey()
		if err != nil {
			t.Fatal(err)
		}
		open, err := envelope.GenerateKey(envelope.X25519)
		if err != nil {
			t.Fatal(err)
		}
		l.keys[i], party.Receipts, party.Key = key, key.Public().String(), open.Public().String()
	}
	var err error
	if l.c.analyzer, err = envelope.GenerateKey(envelope.X25519); err != nil {
		t.Fatal(err)
	}
	if l.c.releaser, err = relay.GenerateSignKey(); err != nil {
		t.Fatal(err)
	}
	p.Analyzer.Key, p.Analyzer.Releases = l.c.analyzer.Public().String(), l.c.releaser.Public().String()
	p = example.Design(t, p)
	l.c.signed, l.c.name = plan.Sign(p, publisher), p.Name()
	if l.tasks, err = task.All(p); err != nil {
		t.Fatal(err)
	}
	l.say = [2]func(int) *http.Response{l.sound, l.sound}
	return l
}

// RoundTrip is the network: all but the leader are out of reach.
func (l *leader) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	for crowd, t := range l.tasks {
		if r.URL.Host == "leader.test" && r.URL.Path == dap.CollectionPath(t.ID) {
			if l.asked[crowd]++; l.say[crowd] == nil {
				break
			}
			return l.say[crowd](crowd), nil
		}
	}
	return nil, errors.New("no route to host")
}

// sound gives both shares of a crowd.
func (l *leader) sound(crowd int) *http.Response { return l.shares(crowd, 0) }

// unsound gives shares of which one has changed on a disk before it was signed.
func (l *leader) unsound(crowd int) *http.Response { return l.shares(crowd, 0x10) }

func (l *leader) shares(crowd int, flip byte) *http.Response {
	l.t.Helper()
	t := l.tasks[crowd]
	var own, others []byte
	for i := range t.VDAF.Length() {
		own = append(binary.LittleEndian.AppendUint64(own, uint64(reported/t.VDAF.Length()+i)), make([]byte, 8)...)
		others = append(others, make([]byte, 16)...)
	}
	others[12] ^= flip
	var sealed [2]dap.Ciphertext
	for i, text := range [][]byte{own, others} {
		var share prio3.Vector
		if err := share.UnmarshalBinary(text); err != nil {
			l.t.Fatal(err)
		}
		var err error
		if sealed[i], err = t.SealSum(dap.Leader+dap.Role(i), share); err != nil {
			l.t.Fatal(err)
		}
	}
	first := relay.Receipt{
		Plan: t.Plan, Crowd: uint32(crowd), Respondents: reported, In: reported, Out: reported, BatchOut: sha256.Sum256(dap.MarshalShare(sealed[0])),
	}.Sign(l.keys[0])
	second := relay.Receipt{
		Plan: t.Plan, Hop: 1, Crowd: uint32(crowd), Respondents: reported, In: reported, Out: reported,
		BatchIn: first.BatchOut, BatchOut: handover.SharesDigest(first.BatchOut, dap.MarshalShare(sealed[1])), Previous: first.Hash(),
	}.Sign(l.keys[1])
	body := dap.Collected{Reports: reported, Duration: 1, Leader: sealed[0], Helper: sealed[1]}.Marshal()
	header := http.Header{handover.ReceiptHeader: {base64.RawURLEncoding.EncodeToString(append(first.Bytes(), second.Bytes()...))}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(bytes.NewReader(body))}
}

// refuses answers with a problem.
func refuses(code wire.Code, detail string) func(int) *http.Response {
	return func(int) *http.Response {
		w := httptest.NewRecorder()
		web.WriteProblem(w, wire.Problemf(code, "%s", detail))
		return w.Result()
	}
}

func (l *leader) start() *rig {
	r := start(l.t, filepath.Join(l.t.TempDir(), "shelves"), l.c)
	r.client = &http.Client{Transport: l}
	r.restart()
	r.wants(r.register(l.c), created, "")
	return r
}

func (r *rig) steps(n int) {
	r.t.Helper()
	for range n {
		if err := r.service.Step(r.t.Context()); err != nil {
			r.t.Error(err)
		}
	}
}

// state is what everybody is told of the plan.
func (r *rig) state() analyzerd.Plan {
	r.t.Helper()
	all, err := r.service.Plans(r.t.Context())
	if err != nil || len(all) != 1 {
		r.t.Fatal(all, err)
	}
	return all[0]
}

// alarms are the service's, in one text.
func (r *rig) alarms() string {
	return strings.Join(r.service.Status(r.t.Context()).Alarms, "\n")
}

// A sum that does not open, whichever way the leader gives it, is asked for three times and given
// up: the plan's state says so, an alarm whose remedy is a withdrawal, the number of such sums, and
// who asks for the release. Nobody asks again before a restart, and when its time is over the other
// crowd is published, with a note.
func TestASumThatCanNeverBeHad(t *testing.T) {
	for name, says := range map[string]struct {
		say  func(l *leader) func(int) *http.Response
		why  string
		asks int
	}{
		"the shares are not of one sum": {func(l *leader) func(int) *http.Response { return l.unsound }, "the shares are not those of one sum", 3},
		"no shares":                     {func(*leader) func(int) *http.Response { return empty }, "crowd 1 can never be had", 3},
		"the leader says so":            {func(*leader) func(int) *http.Response { return refuses(wire.SumFailed, "South answers batch-refused") }, "North says: South answers batch-refused", 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := summed(t)
			l.say[0] = says.say(l)
			r := l.start()
			r.at(closes)
			r.steps(5)
			if l.asked[0] != says.asks || l.asked[1] != 1 {
				t.Errorf("the leader was asked %v times", l.asked)
			}
			if s := r.state(); s.Status != analyzerd.Failed {
				t.Errorf("the plan is %+v", s)
			}
			if a := r.alarms(); !strings.Contains(a, says.why) || !strings.Contains(a, "have its publishers withdraw it") || strings.Contains(a, "backup") {
				t.Errorf("the alarms are %q", a)
			}
			if detail := r.wants(r.get("/v1/releases/"+l.c.name+".json"), 410, wire.SumFailed); !strings.Contains(detail, says.why) {
				t.Errorf("who asks for the release is told %q", detail)
			}
			r.shows("confetti_analyzer_sums_failed 1\n")
			r.restart()
			if r.state().Status != analyzerd.Open {
				t.Error("a restart does not try again")
			}
			r.steps(2)
			if l.asked[0] != 2*says.asks || r.state().Status != analyzerd.Failed {
				t.Errorf("after a restart it is %+v, asked %v times", r.state(), l.asked)
			}
			r.at(closes.Add(time.Hour))
			r.steps(1)
			if s := r.state(); s.Status != analyzerd.Released {
				t.Fatalf("the plan is %+v", s)
			}
			if text := r.get("/v1/releases/" + l.c.name + ".json").Body.String(); !strings.Contains(text, `"failed": true`) {
				t.Error("what is stored does not say which sum failed")
			}
			if text := r.get("/v1/releases/" + l.c.name + ".html").Body.String(); !strings.Contains(text, "lacks a crowd: the sum of crowd 1 can never be had") {
				t.Error("the release does not say what it lacks")
			}
			r.shows("confetti_analyzer_sums_failed 0\n")
		})
	}
}

func empty(int) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no shares"))}
}

// shows fails unless a text is among the service's numbers, and the service is ready.
func (r *rig) shows(text string) {
	r.t.Helper()
	server, err := serve.New(serve.Config{Name: "analyzer", Routes: r.service.Routes(), Ready: r.service.Ready, Metrics: r.metrics})
	if err != nil {
		r.t.Fatal(err)
	}
	for path, want := range map[string]string{"/metrics": text, "/readyz": ""} {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != ok || !strings.Contains(w.Body.String(), want) {
			r.t.Errorf("%s: %d, without %q", path, w.Code, want)
		}
	}
}

// Whoever closes a plan of which no sum can be had is told why, and the plan is not open any more.
func TestAPlanIsClosedOfWhichNoSumCanBeHad(t *testing.T) {
	l := summed(t)
	l.say = [2]func(int) *http.Response{l.unsound, refuses(wire.SumFailed, "South answers batch-refused")}
	r := l.start()
	w := r.do("POST", wire.ClosePath(l.c.signed.Plan.Hash()), "", nil)
	var p analyzerd.Plan
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != ok || p.Status != analyzerd.Withheld {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	for _, why := range []string{"crowd 1 can never be had: prio3: the shares are not those of one sum", "crowd 2 can never be had: North says: South answers batch-refused"} {
		if !strings.Contains(p.Reason, why) || !strings.Contains(r.alarms(), why) {
			t.Errorf("it is withheld for %q, alarms %q", p.Reason, r.alarms())
		}
	}
}

// What the leader withholds it is not asked for again; a leader that is out of reach is asked for
// ever, and a plan is not closed by hand without it.
func TestASumThatMayStillCome(t *testing.T) {
	l := summed(t)
	l.say = [2]func(int) *http.Response{refuses(wire.Withheld, "too few"), nil}
	r := l.start()
	r.at(closes)
	for range 4 {
		if r.service.Step(t.Context()) == nil {
			t.Error("a leader that is out of reach is no error")
		}
	}
	if l.asked != [2]int{1, 4} || r.state().Status != analyzerd.Open || r.alarms() != "" {
		t.Errorf("asked %v times, %+v, alarms %q", l.asked, r.state(), r.alarms())
	}
	r.wants(r.do("POST", wire.ClosePath(l.c.signed.Plan.Hash()), "", nil), 500, wire.Internal)
	l.say[1] = l.sound
	r.at(closes.Add(time.Hour))
	r.steps(1)
	if s := r.state(); s.Status != analyzerd.Released {
		t.Errorf("the plan is %+v", s)
	}
}
