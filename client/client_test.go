package client_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"

	"github.com/confetti-dp/confetti/client/native"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
)

func TestReport(t *testing.T) {
	for name, tokens := range map[string]bool{"bearer": false, "tokens": true} {
		t.Run(name, func(t *testing.T) {
			p, _ := sample(t, "rr", 2, 3)
			s := newService(t, &p, tokens)
			o := device(t, s)
			o.Transport.(*native.Transport).Certificate = &s.TLS.Certificates[0] // any will do
			c := opened(t, p, o)
			if err := c.Report(t.Context(), value(1)); err != nil {
				t.Fatal(err)
			}
			if kept, _, _ := s.counts(); kept != 1 {
				t.Errorf("%d contributions", kept)
			}
			e := ledger(t, o).Entries[0]
			if e.Plan != p.Name() || e.Waiting() || e.Parts[0].Status != client.Sent || len(e.Parts[0].Messages) != 3 || e.Charge != c.Charge() || e.CrowdName == "" {
				t.Errorf("the ledger says %+v", e)
			}
			if spooled(t, o) != 0 {
				t.Error("what was sent is still spooled")
			}
			if err := c.Report(t.Context(), value(0)); !errors.Is(err, client.ErrAnswered) {
				t.Errorf("a second answer: %v", err)
			}
			if kept, _, _ := s.counts(); kept != 1 {
				t.Errorf("%d contributions after a second answer", kept)
			}
			for _, r := range s.requests {
				known := r.certificate && strings.Contains(r.authorization, bearer)
				if anonymous := tokens && strings.Contains(r.path, "contributions"); known == anonymous || anonymous && r.certificate {
					t.Errorf("who sends is told to %s: %v", r.path, known)
				}
			}
		})
	}
}

func spooled(t testing.TB, o client.Options) int {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(dir(o), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// Whatever fails and however often, the same bytes are sent again, by the same
// program or another one.
func TestTheSameBytesAreSentUntilAcknowledged(t *testing.T) {
	p, _ := sample(t, "rr", 2, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	o.Wait = 5 * time.Minute
	var waits []time.Duration
	c := opened(t, p, o)
	c.SetTime(time.Now, func(d time.Duration) { waits = append(waits, d) })
	err := c.Report(t.Context(), value(1))
	var waiting *client.WaitingError
	if !errors.As(err, &waiting) || waiting.Parts != 1 || !strings.Contains(err.Error(), "overloaded") {
		t.Fatalf("error %v", err)
	}
	if len(waits) < 5 {
		t.Errorf("tried again %d times", len(waits))
	}
	for i, d := range waits {
		if d <= 0 || d > min(time.Second<<i, 5*time.Minute)+1 {
			t.Errorf("wait %d is %v", i, d)
		}
	}
	again := opened(t, p, o) // as after a crash
	s.setFail(nil)
	if err := again.Report(t.Context(), value(0)); err != nil {
		t.Fatal(err)
	}
	kept, requests, _ := s.counts()
	if kept != 1 || requests < 3 {
		t.Errorf("%d contributions in %d requests", kept, requests)
	}
	for _, r := range s.requests {
		if r.path != s.requests[0].path || string(r.body) != string(s.requests[0].body) {
			t.Fatal("another contribution was sent")
		}
	}
	if err := again.Deliver(t.Context()); err != nil {
		t.Errorf("nothing waits, and still: %v", err)
	}
}

// Report does not wait for a service that is away: it tries once, and says what
// waits. A later Deliver goes on.
func TestReportTriesOnce(t *testing.T) {
	p, _ := sample(t, "rr", 2, 3)
	s := newService(t, &p, false)
	o := device(t, s)
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	c := opened(t, p, o)
	start := time.Now()
	c.SetTime(func() time.Time { return start }, func(d time.Duration) { t.Errorf("waited %v", d) })
	var waiting *client.WaitingError
	if err := c.Report(t.Context(), value(1)); !errors.As(err, &waiting) || !waiting.Next.After(start) {
		t.Fatalf("error %v", err)
	}
	if _, requests, _ := s.counts(); requests != 1 {
		t.Errorf("%d requests", requests)
	}
	s.setFail(nil)
	if err := c.Deliver(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	t.Run("a false promise", func(t *testing.T) {
		q := p
		q.Budget.Epsilon *= 0.9
		if _, err := client.Open(sign(q), device(t, s)); err == nil || !strings.Contains(err.Error(), "promise does not hold") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a plan of nobody's", func(t *testing.T) {
		o := device(t, s)
		o.Publishers = plan.Publishers{}
		if _, err := client.Open(sign(p), o); err == nil || !strings.Contains(err.Error(), "nobody here trusts") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a plan changed on its way", func(t *testing.T) {
		signed := sign(p)
		signed.Plan.Title = "Where do people sleep?"
		if _, err := client.Open(signed, device(t, s)); err == nil || !strings.Contains(err.Error(), "changed on its way") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a plan without addresses", func(t *testing.T) {
		q, _ := sample(t, "rr", 1, 2)
		if _, err := client.Open(sign(q), device(t, s)); err == nil || !strings.Contains(err.Error(), "no address") {
			t.Errorf("error %v", err)
		}
	})
	for name, c := range map[string]struct {
		change func(*client.Options, *plan.Plan)
		want   error
	}{
		"without consent":    {func(o *client.Options, _ *plan.Plan) { o.Store = native.Folder{Path: dir(*o) + "-other"} }, client.ErrNotOptedIn},
		"after opting out":   {func(o *client.Options, _ *plan.Plan) { client.Consent(o.Store, false) }, client.ErrNotOptedIn},
		"by environment":     {func(*client.Options, *plan.Plan) {}, client.ErrOff},
		"before it opens":    {func(_ *client.Options, p *plan.Plan) { p.Times.Opens = time.Now().Add(time.Hour) }, client.ErrNotOpen},
		"after it closes":    {func(_ *client.Options, p *plan.Plan) { p.Times.Closes = time.Now().Add(-time.Hour) }, client.ErrClosed},
		"above a plan's cap": {func(o *client.Options, _ *plan.Plan) { o.Caps.Plan.Epsilon = 1 }, nil},
		"above the policy's": {func(o *client.Options, _ *plan.Plan) {
			o.Policy = policy.File(policyFile(t, `{"caps": {"plan": {"delta": 1e-9}}}`))
		}, nil},
		"local cap": {func(o *client.Options, _ *plan.Plan) { o.Caps.Plan.Local = 0.5 }, nil},
		"no room":   {func(o *client.Options, _ *plan.Plan) { o.SpoolBytes = 10 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o, q := device(t, s), p
			c.change(&o, &q)
			opened := opened(t, q, o)
			if c.want == client.ErrOff {
				t.Setenv(client.Off, "1")
			}
			err := opened.Report(t.Context(), value(1))
			if err == nil || !strings.Contains(err.Error(), "refused") || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v", err)
			}
			if len(ledger(t, o).Entries) > 0 || spooled(t, o) > 0 {
				t.Error("something was spent or spooled")
			}
		})
	}
	if kept, requests, _ := s.counts(); kept+requests > 0 {
		t.Errorf("%d requests", requests)
	}
}

func TestFetch(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	signed, err := client.Fetch(t.Context(), s.URL+"/", p.Hash(), o)
	if err != nil || signed.Plan.Name() != p.Name() || signed.Verify(o.Publishers) != nil {
		t.Errorf("fetched %s: %v", signed.Plan.Name(), err)
	}
	if _, err := client.Fetch(t.Context(), s.URL, [32]byte{1}, o); err == nil || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("another plan: %v", err)
	}
	if _, err := client.Fetch(t.Context(), "http://127.0.0.1:1", p.Hash(), o); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("in the clear: %v", err)
	}
}
