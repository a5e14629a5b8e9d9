package chaos

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/service/serve"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/internal/wire/tokenwire"
	"github.com/confetti-dp/confetti/plan"
)

// The budget of a request, as docs/operating-roles.md states it: so many bytes are
// allocated at most for each byte that came or was answered, beside
// costlimit.Base, and so much processor time, for each megabyte that came.
const (
	routeFactor    = 8
	routeProcessor = 250 * time.Millisecond // and once more for each MiB
	// An operator's pages add budgets up: as if so many bytes more had come.
	operatorBeside = 512 << 10
)

// Every route of every service, open and after its release, stays within its
// budget, whoever asks and whatever the body. The routes are those of the routers:
// a new one is tried without anybody thinking of it, and one whose path this test
// cannot fill in fails it.
func TestEveryRouteStaysWithinItsBudget(t *testing.T) {
	w, err := newWorld(shape{hops: []int{2}, tokens: true, minimum: 3, devices: 6, crowds: 1}, "budget")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	var traffic []*parcel
	w.net.tap = func(x *parcel) { traffic = append(traffic, x) }
	for d := range w.shape.devices {
		w.report(d)
	}
	walk := func(when string) {
		asked := 0
		for _, name := range w.services() {
			for _, operators := range []*serve.Bearers{nil, w.ring.people("operators")} {
				if name == "analyzer" && operators == nil {
					continue // its configuration demands them
				}
				config := w.nodes[name].config
				config.Operators = operators
				server, err := serve.New(config)
				if err != nil {
					t.Fatal(err)
				}
				for _, pattern := range server.Patterns() {
					// The service's own routes know no difference.
					if _, own := config.Routes[pattern]; !own || operators == nil || name == "analyzer" {
						asked += w.try(t, name, server, pattern, w.worst(traffic, pattern, plan.MaxBytes-1000), traffic)
					}
				}
			}
		}
		t.Logf("%s: %d requests", when, asked)
		if asked < 1000 {
			t.Errorf("%s: only %d requests were tried", when, asked)
		}
	}
	walk("while the collection is open")
	w.now = closes
	for range 3 {
		for _, name := range []string{"hop0.0", "hop0.1"} {
			w.step(name)
		}
	}
	w.net.tap = nil
	w.finish()
	walk("after the release")
	for _, v := range w.violations {
		t.Error(v)
	}
	if released := w.counted(); len(released) != 1 {
		t.Errorf("%d crowds were released, want 1", len(released))
	}
}

// A route that decodes whatever it is sent is caught.
func TestARouteThatDecodesForStrangersIsCaught(t *testing.T) {
	w, err := newWorld(shape{hops: []int{1}, minimum: 2, devices: 2, crowds: 1}, "budget")
	if w != nil {
		defer w.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Config{Name: "twin", Routes: map[string]serve.Handler{wire.RegisterPattern: func(out http.ResponseWriter, r *http.Request) error {
		body, err := serve.ReadBody(out, r, plan.MaxSignedBytes)
		if err != nil {
			return err
		}
		var anything any
		return json.Unmarshal(body, &anything)
	}}})
	if err != nil {
		t.Fatal(err)
	}
	stattest.Caught(t, func(tb testing.TB) {
		w.try(tb, "twin", server, wire.RegisterPattern, w.worst(nil, wire.RegisterPattern, 1<<18), nil)
	})
}

// try sends a route everything that is bad, from everybody, and returns how many
// requests that was.
func (w *world) try(t testing.TB, service string, server *serve.Server, pattern string, bodies map[string][]byte, traffic []*parcel) (asked int) {
	t.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	senders := map[string]string{"nobody": "", "a respondent": "Bearer " + w.ring.bearers[0]}
	for _, x := range traffic {
		if a := x.header.Get("Authorization"); strings.HasPrefix(a, "PrivateToken") {
			senders["a device with a token"] = a
		}
	}
	if method != http.MethodPost { // an operator may close, which is work
		senders["an operator"] = "Bearer " + w.ring.operator
	}
	ids := map[string]string{} // of bodies, in paths that ask for one: some have eight megabytes
	if strings.Contains(path, "{id}") {
		for what, body := range bodies {
			ids[what] = fmt.Sprintf("%x", wire.ContributionID(body))
		}
	}
	for i, at := range w.paths(t, path) {
		for who, authorization := range senders {
			for what, body := range bodies {
				if i > 0 && (len(body) > 1<<20 || strings.HasPrefix(what, "a large number")) {
					continue
				}
				for _, known := range []bool{true, false} {
					if !known && len(body) < 1<<20 {
						continue
					}
					filled := strings.ReplaceAll(at, "{id}", ids[what])
					answered := 0
					request := func() {
						r, err := http.NewRequest(method, "https://x"+filled, struct{ io.Reader }{bytes.NewReader(body)})
						if err != nil {
							t.Fatal(err)
						}
						r.ContentLength = -1
						if known {
							r.ContentLength = int64(len(body))
						}
						r.Header.Set("Content-Type", mediaTypes[pattern])
						if authorization != "" {
							r.Header.Set("Authorization", authorization)
						}
						out := &away{header: http.Header{}}
						server.ServeHTTP(out, r)
						answered = out.length
						if out.status == http.StatusInternalServerError && service != "twin" {
							t.Errorf("%s %s %s: status 500", service, method, filled)
						}
					}
					beside := 0
					if who == "an operator" {
						beside = operatorBeside
					}
					r := &reporter{TB: t, what: fmt.Sprintf("%s %s %s, from %s: %s", service, method, filled, who, what)}
					if method == http.MethodGet {
						request() // how much is answered
					}
					costlimit.Processor(r, time.Duration(1+len(body)>>20)*routeProcessor, func() {
						costlimit.Heap(r, routeFactor, len(body)+answered+beside, request)
					})
					asked++
				}
			}
		}
	}
	return asked
}

// away is an answer that nobody keeps.
type away struct {
	header http.Header
	status int
	length int
}

func (a *away) Header() http.Header         { return a.header }
func (a *away) WriteHeader(status int)      { a.status = status }
func (a *away) Write(b []byte) (int, error) { a.length += len(b); return len(b), nil }

// reporter says of which request something is said.
type reporter struct {
	testing.TB
	what string
}

func (r *reporter) Errorf(format string, a ...any) {
	r.TB.Helper()
	r.TB.Errorf("%s: %s", r.what, fmt.Sprintf(format, a...))
}

var variable = regexp.MustCompile(`\{[^}]*\}`)

// paths fills a pattern's path in: with what is there, and with what is not. {id} is
// left to whoever knows the body.
func (w *world) paths(t testing.TB, path string) []string {
	t.Helper()
	name := w.signed.Plan.Name()
	// What is there first, then what is not: one thing at a time.
	fillings := map[string][]string{
		"{plan}": {name, strings.Repeat("0", 64), "x"}, "{instance}": {"0", "65535"}, "{hop}": {"1", "0", "2", "255"}, "{crowd}": {"0", "4294967295"}, "{part}": {"0", "65535", "65536"},
		"{id}": {"{id}"}, "{file}": {name + ".json", name + ".html", "x.csv"}, "{population}": {"all", "x"}, "{$}": {""}, "{code}": {"x", strings.Repeat("0", 64)}, "{state}": {strings.Repeat("0", 64), "x"}, "{study}": {strings.Repeat("0", 64), "x"},
	}
	fill := func(other string, n int) string {
		return variable.ReplaceAllStringFunc(path, func(one string) string {
			with, known := fillings[one]
			if !known {
				t.Fatalf("this test cannot fill in %s of %s: say what stands there", one, path)
			}
			if one == other {
				return with[n]
			}
			return with[0]
		})
	}
	all := []string{fill("", 0)}
	for _, one := range variable.FindAllString(path, -1) {
		for n := 1; n < len(fillings[one]); n++ {
			all = append(all, fill(one, n))
		}
	}
	return all
}

// mediaTypes are what the routes read.
var mediaTypes = map[string]string{
	wire.ContributionPattern: wire.ContributionType, wire.BatchPattern: wire.BatchType, wire.TokensPattern: wire.TokenRequestType, wire.RegisterPattern: wire.SignedPlanType,
	wire.WithdrawPattern: wire.WithdrawalType, wire.PartPattern: wire.PartType,
}

// worst is the bodies that cost a route most: so many bytes that mean much, bytes of
// no form, and traffic cut short, with numbers that are not true, or as it was.
func (w *world) worst(traffic []*parcel, pattern string, room int) map[string][]byte {
	bodies := map[string][]byte{"nothing": nil}
	if strings.HasPrefix(pattern, http.MethodGet) {
		return bodies
	}
	mediaType := mediaTypes[pattern]
	bodies["a byte"] = []byte{1}
	for _, b := range []string{"{", "\xff", "\x9f"} { // the last one opens a list of CBOR
		bodies[fmt.Sprintf("%q, often", b)] = bytes.Repeat([]byte(b), room)
	}
	bodies["too much"] = make([]byte, plan.MaxSignedBytes+1)
	switch mediaType {
	case wire.SignedPlanType:
		head := strings.TrimSuffix(string(w.signed.Marshal()), string(w.signed.Plan.Canonical())+"}")
		bodies["the plan"] = w.signed.Marshal()
		bodies["the plan, cut short"] = w.signed.Marshal()[:len(w.signed.Marshal())-1]
		for name, one := range map[string]string{"hops": "{}", "numbers": "0", "names": `""`} {
			bomb := `{"version":2,"title":"t","question":{"kind":"x"},"route":{"kind":"mix","mix":{"instances":[{"hops":[` + strings.Repeat(one+",", room/(len(one)+1)-100) + one + `]}]}}}}`
			bodies["a stranger's plan of many "+name] = []byte(strings.Replace(head, w.signed.Publisher, "ed25519:"+strings.Repeat("A", 43), 1) + bomb)
			bodies["a plan of many "+name+" in a publisher's name"] = []byte(head + bomb)
		}
	case wire.WithdrawalType:
		// Not one that holds: nothing would be left to try.
		statement, err := plan.Withdraw(plan.Withdrawal{Plan: w.signed.Plan.Hash(), At: opens, Reason: strings.Repeat("x", 500)}, w.ring.stranger())
		if err != nil {
			panic(err)
		}
		bodies["a stranger's withdrawal"] = statement.Marshal()
		bodies["one cut short"] = statement.Marshal()[:300]
		bodies["one that goes on"] = append(statement.Marshal(), make([]byte, room-plan.MaxWithdrawalBytes)...)
	case wire.TokenRequestType:
		// A list of as many asks as can be stated, and one of as many as may be.
		bodies["many asks"] = append([]byte{0xa1, 0x01, 0x9b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, make([]byte, tokenwire.MaxBody-100)...)
		bodies["empty asks"] = append([]byte{0xa1, 0x01, 0x99, 0x04, 0x00}, bytes.Repeat([]byte{0xa0}, 1024)...)
		bodies["a long ask"] = append([]byte{0xa1, 0x01, 0x81, 0xa3, 0x01, 0, 0x02, 0, 0x03, 0x5a, 0, 4, 0, 0}, make([]byte, 1<<18)...)
	}
	for _, x := range traffic {
		if x.header.Get("Content-Type") != mediaType || bodies["as it was"] != nil {
			continue
		}
		bodies["as it was"] = x.body
		bodies["cut short"] = x.body[:len(x.body)/2]
		bodies["and more"] = append(bytes.Clone(x.body), bytes.Repeat(x.body, 1+(1<<20)/len(x.body))...)
		for at := 0; at+4 <= min(len(x.body), 600); at += 2 { // numbers that say that there is much
			b := bytes.Clone(x.body)
			binary.BigEndian.PutUint32(b[at:], 1<<31-1)
			if at < 60 || at%16 == 0 {
				bodies[fmt.Sprintf("a large number at %d", at)] = b
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		if len(bodies[name]) > plan.MaxSignedBytes+1 {
			delete(bodies, name)
		}
	}
	return bodies
}
