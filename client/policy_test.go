package client_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/wire"
)

func policyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPolicyDecides(t *testing.T) {
	p, _ := sample(t, "rr", 3, 2)
	for i, operator := range []string{"North", "South", "West"} {
		p.Route.Mix.Instances[i].Hops[0].Operator = operator
	}
	s := newService(t, &p, false)
	under := func(text string) client.Options {
		o := device(t, s)
		o.Policy = policy.File(policyFile(t, text))
		return o
	}
	publisher := device(t, s).Publishers.Keys[0].Key
	for name, text := range map[string]string{
		"off":             `{"off": true}`,
		"denied":          fmt.Sprintf(`{"publishers": {"deny": [%q]}}`, publisher),
		"not allowed":     `{"publishers": {"allow": ["ed25519:other"]}}`,
		"every way there": `{"operators": {"deny": ["North", "South", "West"]}}`,
	} {
		if _, err := client.Open(sign(p), under(text)); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", name, err)
		}
		// A policy that comes later holds from then on.
		o, path := device(t, s), policyFile(t, "{}")
		o.Policy = policy.File(path)
		c := opened(t, p, o)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.Report(t.Context(), value(0)); err == nil || !strings.Contains(err.Error(), "refused") || len(ledger(t, o).Entries) > 0 {
			t.Errorf("%s, later: %v", name, err)
		}
	}
	for range 10 { // a forbidden instance would be drawn with probability 1 - 3^-10
		o := under(fmt.Sprintf(`{"operators": {"deny": ["North", "West"]}, "publishers": {"allow": [%q]}}`, publisher))
		if err := opened(t, p, o).Report(t.Context(), value(0)); err != nil {
			t.Fatal(err)
		}
		if i := ledger(t, o).Entries[0].Parts[0].Instance; i != 1 {
			t.Fatalf("went through instance %d", i)
		}
		s.reset()
	}
}

func TestOptingOut(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	s.setFail(func(*http.Request) error { return wire.Problemf(wire.Overloaded, "busy") })
	o := device(t, s)
	c := opened(t, p, o)
	if err := c.Report(t.Context(), value(1)); err == nil || spooled(t, o) != 1 {
		t.Fatalf("%v, %d spooled", err, spooled(t, o))
	}
	if err := client.Consent(o.Store, false); err != nil {
		t.Fatal(err)
	}
	l := ledger(t, o)
	if part := l.Entries[0].Parts[0]; spooled(t, o) != 0 || l.OptedIn || part.State != client.Dropped || !strings.Contains(part.Reason, "opted out") {
		t.Errorf("%d spooled, the ledger says %+v", spooled(t, o), part)
	}
	s.setFail(nil)
	if err := c.Deliver(t.Context()); err != nil {
		t.Errorf("nothing waits, and still: %v", err)
	}
	if err := client.Consent(o.Store, true); err != nil {
		t.Fatal(err)
	}
	if err := c.Report(t.Context(), value(1)); err == nil {
		t.Error("opting in again made room for a second answer to a plan")
	}
	if kept, _, _ := s.counts(); kept != 0 {
		t.Error("something was sent after opting out")
	}
}

// Opting out counts while a contribution waits out its delay.
func TestOptingOutDuringTheDelay(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	s := newService(t, &p, false)
	o := device(t, s)
	o.Delay, o.Wait = time.Hour, time.Hour
	c := opened(t, p, o)
	var waited time.Duration
	c.SetTime(time.Now, func(d time.Duration) {
		waited = d
		if err := client.Consent(o.Store, false); err != nil {
			t.Error(err)
		}
	})
	err := c.Report(t.Context(), value(1))
	if kept, requests, _ := s.counts(); err == nil || kept+requests > 0 || waited <= 0 || waited > o.Delay {
		t.Errorf("%v, %d requests, waited %v", err, requests, waited)
	}
}
