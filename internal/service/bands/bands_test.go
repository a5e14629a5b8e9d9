package bands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/keyfile/keytext"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/internal/release/trend"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// receiver keeps what it gets, and answers as it is told.
type receiver struct {
	mu      sync.Mutex
	bodies  []string
	signed  []string
	answers func(n int, w http.ResponseWriter)
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	body, _ := io.ReadAll(in.Body)
	r.mu.Lock()
	r.bodies, r.signed = append(r.bodies, string(body)), append(r.signed, in.Header.Get(signatureHeader))
	n := len(r.bodies)
	r.mu.Unlock()
	if r.answers != nil {
		r.answers(n, w)
	}
}

func (r *receiver) got() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.bodies)
}

// place is a folder with a declaration, and a clock.
type place struct {
	folder, file string
	key          relay.VerifyKey
	now          time.Time
}

const declared = "url = %q\nkey = \"hook.json\"\n[[band]]\ntitle = \"app, each week\"\nmetric = \"theme\"\nvalue = \"dark\"\nlow = 0.3\nhigh = 0.5\n"

func set(t *testing.T, url string) *place {
	t.Helper()
	p := &place{folder: t.TempDir(), now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	p.key, p.file = key.Public(), filepath.Join(p.folder, "bands.toml")
	if err := partykey.CreateSigning(filepath.Join(p.folder, "hook.json"), key, "test"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file, fmt.Appendf(nil, declared, url), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) open(t *testing.T) *Outbox {
	t.Helper()
	o, err := Open(p.file, p.folder, slog.New(slog.DiscardHandler), func() time.Time { return p.now })
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// told returns a round of 10,000 people of whom about so many are dark.
func told(t *testing.T, name string, dark float64) trend.Told {
	t.Helper()
	p := example.Histograms()["categories"]
	asked := *p.Question.Histogram
	asked.Attributes = []plan.Attribute{{Name: "theme", Kind: "categories", Values: []string{"dark", "light"}}}
	p.Question.Histogram = &asked
	r := release.Release{Headline: []release.Metric{{Name: "respondents", Value: 10000}}}
	one, err := trend.Read(example.Design(t, p), r, []sheets.ValueCount{
		{Attribute: "theme", Value: "dark", Estimate: dark, StdErr: 50, LowAll: dark - 150, HighAll: dark + 150},
		{Attribute: "theme", Value: "light", Estimate: 10000 - dark, StdErr: 50, LowAll: 9850 - dark, HighAll: 10150 - dark},
	})
	if err != nil {
		t.Fatal(err)
	}
	return trend.Told{Title: "app, each week", Plan: name, Round: one}
}

func all(string) bool { return true }

func (p *place) step(t *testing.T, o *Outbox, of ...trend.Told) {
	t.Helper()
	if err := o.Step(t.Context(), of, all); err != nil {
		t.Fatal(err)
	}
}

// A round outside is told once, signed, however often it is looked at and after a restart; one inside is not told.
func TestABandIsToldOnceARound(t *testing.T) {
	r := &receiver{}
	s := httptest.NewServer(r)
	defer s.Close()
	p := set(t, s.URL)
	o := p.open(t)
	p.step(t, o, told(t, "plan 1", 4000))
	if r.got() != 0 {
		t.Fatalf("a round in its band is told: %s", r.bodies)
	}
	for range 3 {
		p.step(t, o, told(t, "plan 2", 7000))
		o = p.open(t)
	}
	p.step(t, o, told(t, "plan 3", 7000))
	if r.got() != 2 {
		t.Fatalf("two rounds outside are told %d times", r.got())
	}
	var m Message
	if err := json.Unmarshal([]byte(r.bodies[0]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Plan != "plan 2" || m.Low <= 0.5 || m.Low >= 0.7 || m.High <= 0.7 || !strings.Contains(m.Says, "surely above the band of 30.0 to 50.0 %") || m.ID == "" {
		t.Errorf("%+v", m)
	}
	raw, err := keytext.Decode(relay.SignSuite, r.signed[0])
	if err != nil || !p.key.Verify(append([]byte("confetti/band/v1\n"), r.bodies[0]...), raw) {
		t.Error("it is not signed")
	}
	if p.key.Verify([]byte(r.bodies[0]), raw) || p.key.Verify(append([]byte("confetti/band/v1\n"), r.bodies[1]...), raw) {
		t.Error("another text has this signature")
	}
}

// A receiver that fails is asked again with the same bytes, later each time, and is given up in the end.
func TestAReceiverThatFails(t *testing.T) {
	r := &receiver{answers: func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }}
	s := httptest.NewServer(r)
	defer s.Close()
	p := set(t, s.URL)
	o := p.open(t)
	of := told(t, "plan", 7000)
	p.step(t, o, of)
	p.step(t, o, of) // at the same moment
	if r.got() != 1 {
		t.Fatalf("%d tries at once", r.got())
	}
	began := p.now
	for range 100_000 {
		p.now = p.now.Add(time.Minute)
		before := r.got()
		p.step(t, o, of)
		if r.got() > before && r.bodies[before] != r.bodies[0] {
			t.Fatal("other bytes are sent again")
		}
		if r.got() == mostTries {
			break
		}
	}
	if r.got() != mostTries || p.now.Sub(began) > 4*24*time.Hour {
		t.Fatalf("%d tries in %v", r.got(), p.now.Sub(began))
	}
	p.now = p.now.AddDate(1, 0, 0)
	p.step(t, p.open(t), of)
	if r.got() != mostTries {
		t.Error("a receiver that was given up is asked again")
	}
}

// A redirection is not followed, and a slow receiver is not waited for.
func TestAReceiverElsewhereOrSlow(t *testing.T) {
	elsewhere := &receiver{}
	other := httptest.NewServer(elsewhere)
	defer other.Close()
	r := &receiver{answers: func(_ int, w http.ResponseWriter) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}}
	s := httptest.NewServer(r)
	defer s.Close()
	p := set(t, s.URL)
	o := p.open(t)
	p.step(t, o, told(t, "plan", 7000))
	if r.got() != 1 || elsewhere.got() != 0 || o.all[0].Done != "" || o.all[0].Tries != 1 {
		t.Errorf("%d, %d elsewhere: %+v", r.got(), elsewhere.got(), o.all[0])
	}
	released := make(chan struct{})
	slow := &receiver{answers: func(int, http.ResponseWriter) { <-released }}
	s = httptest.NewServer(slow)
	defer s.Close()
	defer close(released)
	p = set(t, s.URL)
	o = p.open(t)
	o.client.Timeout = 50 * time.Millisecond
	p.step(t, o, told(t, "plan", 7000))
	if o.all[0].Done != "" || o.all[0].Tries != 1 {
		t.Errorf("a receiver that says nothing has it: %+v", o.all[0])
	}
	if patience <= 0 || p.open(t).client.Timeout != patience {
		t.Error("a slow receiver is waited for without end")
	}
}

// Killed after a receiver has a message and before that is on the disk, the same bytes come again, and then no more.
func TestKilledBetween(t *testing.T) {
	r := &receiver{}
	s := httptest.NewServer(r)
	defer s.Close()
	p := set(t, s.URL)
	of := told(t, "plan", 7000)
	var before []byte
	r.answers = func(n int, _ http.ResponseWriter) {
		if n == 1 {
			before, _ = os.ReadFile(filepath.Join(p.folder, fileName)) // as the disk is at that moment
		}
	}
	p.step(t, p.open(t), of)
	if len(before) == 0 {
		t.Fatal("it is sent before it is on the disk")
	}
	if err := os.WriteFile(filepath.Join(p.folder, fileName), before, 0o600); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(time.Hour) // and the text has its first moment still
	o := p.open(t)
	p.step(t, o, of)
	p.step(t, p.open(t), of)
	if r.got() != 2 || r.bodies[0] != r.bodies[1] {
		t.Errorf("%d messages: %q", r.got(), r.bodies)
	}
	if err := os.WriteFile(filepath.Join(p.folder, fileName), before[:len(before)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(p.file, p.folder, nil, nil); err == nil || !strings.Contains(err.Error(), fileName) {
		t.Errorf("half a file is read: %v", err)
	}
}

// What is of a release that was withdrawn since is not sent.
func TestAWithdrawnRoundIsNotTold(t *testing.T) {
	r := &receiver{answers: func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }}
	s := httptest.NewServer(r)
	defer s.Close()
	p := set(t, s.URL)
	o := p.open(t)
	p.step(t, o, told(t, "plan", 7000))
	p.now = p.now.Add(time.Hour)
	if err := o.Step(t.Context(), nil, func(string) bool { return false }); err != nil || r.got() != 1 || o.all[0].Done == "" {
		t.Errorf("%v: told %d times: %+v", err, r.got(), o.all[0])
	}
}

func TestBadDeclarationsAreRefusedByName(t *testing.T) {
	p := set(t, "https://hooks.example/confetti?x=1")
	good, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := read(p.file); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"in the clear":   {"https://hooks", "http://hooks", `url "http://hooks.example/confetti?x=1" is not over TLS`},
		"another scheme": {"https://hooks", "ftp://hooks", "is not over TLS"},
		"no host":        {"https://hooks.example", "https://", "is no address such as"},
		"a password":     {"https://hooks", "https://ada:secret@hooks", "leave them out"},
		"a fragment":     {"?x=1", "#x", "leave them out"},
		"no value":       {"value = \"dark\"", "value = \"\"", "band 1 (theme, ): name the title"},
		"ends exchanged": {"low = 0.3", "low = 0.7", "band 1 (theme, dark): its band is 0.7 to 0.5"},
		"percent":        {"high = 0.5", "high = 50.0", "two shares from 0 to 1"},
		"not a number":   {"low = 0.3", "low = nan", "two shares from 0 to 1"},
		"no band":        {"[[band]]\ntitle = \"app, each week\"\nmetric = \"theme\"\nvalue = \"dark\"\nlow = 0.3\nhigh = 0.5\n", "", "0 bands: declare 1 to 200"},
		"an unknown key": {"low = 0.3", "lowest = 0.3", "there is no setting band.lowest here"},
		"no key":         {"hook.json", "none.json", "key: "},
	} {
		text := bytes.Replace(good, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(text, good) {
			t.Fatalf("%s is not planted", name)
		}
		if err := os.WriteFile(p.file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := read(p.file); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
