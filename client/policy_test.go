package client_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/client/policy"
	"github.com/confetti-dp/confetti/internal/wire"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
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
		"nobody trusted":  `{"operators": {"trust": ["East"]}}`,
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

// An answer that waits goes through no operator who was denied since, and goes when that is taken back.
func TestADenialHoldsForWhatWaits(t *testing.T) {
	p, _ := sample(t, "rr", 2, 2)
	for i, operator := range []string{"North", "South"} {
		p.Route.Mix.Instances[i].Hops[0].Operator = operator
	}
	s := newService(t, &p, false)
	o, path := device(t, s), policyFile(t, `{"operators": {"deny": ["South"]}}`)
	o.Policy = policy.File(path)
	c := opened(t, p, o)
	if err := c.Answer(value(0)); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		policy string
		kept   int
	}{
		{`{"operators": {"deny": ["North"]}}`, 0},
		{`{"operators": {"trust": ["South"]}}`, 0},
		{`{"operators": {"prefer": ["South"]}}`, 1}, // what is drawn stays
	} {
		if err := os.WriteFile(path, []byte(step.policy), 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.Deliver(t.Context())
		if kept, _, _ := s.counts(); kept != step.kept || (err == nil) != (kept == 1) || err != nil && !strings.Contains(err.Error(), "not allow any more") {
			t.Errorf("%s: %d kept, %v", step.policy, kept, err)
		}
	}
}

// Respondents choose among instances by whom they trust, within what the policy leaves.
func TestOperatorsChooseTheInstance(t *testing.T) {
	p, _ := sample(t, "rr", 4, 2)
	for i, operators := range [][]string{{"North", "Press"}, {"South", "Press"}, {"West", "Union"}, {"East", "Union"}} {
		p.Route.Mix.Instances[i].Hops = nil
		for _, name := range operators {
			p.Route.Mix.Instances[i].Hops = append(p.Route.Mix.Instances[i].Hops, plan.Party{Operator: name})
		}
	}
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	s := newService(t, &p, false)
	spread := p
	for name, c := range map[string]struct {
		policy     string
		respondent client.Operators
		among      []int // nil: refused
	}{
		"all alike":               {`{}`, client.Operators{}, []int{0, 1, 2, 3}},
		"trusted":                 {`{}`, client.Operators{Trust: []string{"Union", "Press"}, Deny: []string{"North"}}, []int{1, 2, 3}},
		"one hop of two":          {`{}`, client.Operators{Trust: []string{"East"}}, []int{3}},
		"preferred":               {`{}`, client.Operators{Prefer: []string{"Union"}}, []int{2, 3}},
		"preferred, not trusted":  {`{}`, client.Operators{Trust: []string{"Press"}, Prefer: []string{"Union"}}, []int{0, 1}},
		"preferred and denied":    {`{"operators": {"deny": ["West", "East"]}}`, client.Operators{Prefer: []string{"Union"}}, []int{0, 1}},
		"both trust":              {`{"operators": {"trust": ["Press"]}}`, client.Operators{Trust: []string{"North", "East"}}, []int{0}},
		"both prefer":             {`{"operators": {"prefer": ["North"]}}`, client.Operators{Prefer: []string{"Press"}}, []int{0}},
		"they trust nobody alike": {`{"operators": {"trust": ["Press"]}}`, client.Operators{Trust: []string{"Union"}}, nil},
		"denied by both":          {`{"operators": {"deny": ["Press"]}}`, client.Operators{Deny: []string{"Union"}}, nil},
	} {
		came := map[int]int{}
		for range 10 * max(1, len(c.among)) { // each of m at least once, but with probability m (1-1/m)^(10 m) <= m e^-10
			o := device(t, s)
			o.Policy, o.Operators = policy.File(policyFile(t, c.policy)), c.respondent
			open, err := client.Open(sign(p), o)
			if c.among == nil {
				if coded, is := errors.AsType[interface {
					error
					Code() string
				}](err); !is || coded.Code() != "not-allowed" || !strings.Contains(err.Error(), "respondent denies") {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
			if err == nil {
				err = open.Report(t.Context(), value(0))
			}
			if err != nil {
				t.Fatal(name, err)
			}
			came[ledger(t, o).Entries[0].Parts[0].Instance]++
			s.reset()
		}
		if got := slices.Sorted(maps.Keys(came)); !slices.Equal(got, c.among) {
			t.Errorf("%s: through %v, want all of %v", name, came, c.among)
		}
	}
	// A part of each report goes through every instance of a plan that spreads.
	spread.Route.Mix.Spread = plan.SpreadAll
	o := device(t, s)
	o.Operators = client.Operators{Trust: []string{"Press"}}
	if _, err := client.Open(sign(spread), o); err == nil || !strings.Contains(err.Error(), "respondent") {
		t.Errorf("a plan that spreads: %v", err)
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
	if part := l.Entries[0].Parts[0]; spooled(t, o) != 0 || l.OptedIn || part.Status != client.Dropped || !strings.Contains(part.Reason, "opted out") {
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
