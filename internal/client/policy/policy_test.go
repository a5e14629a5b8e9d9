package policy

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/testkit/costlimit"
)

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte(`{"off": true, "publishers": {"allow": ["a"]}, "caps": {"plan": {"epsilon": 4}, "period": "720h"}}`))
	f.Add([]byte(`{"off": true, "off": false}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		costlimit.Heap(t, costlimit.Factor, len(data), func() {
			p, err := parse(data)
			if err == nil && p.Caps != nil && (!(p.Caps.Plan.Epsilon >= 0) || math.IsInf(p.Caps.Window.Delta, 0)) {
				t.Errorf("caps %+v", *p.Caps)
			}
		})
	})
}

func readPolicy(t *testing.T, text string) (client.Policy, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return File(path)()
}

func TestReadPolicy(t *testing.T) {
	p, err := readPolicy(t, `{"off": true, "publishers": {"allow": ["a"], "deny": ["b"]}, "operators": {"deny": ["North"]},
		"caps": {"plan": {"epsilon": 4, "delta": 1e-5, "local": 12}, "window": {"epsilon": 8}, "period": "720h"}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := client.Caps{Plan: client.Cap{Epsilon: 4, Delta: 1e-5, Local: 12}, Window: client.Cap{Epsilon: 8}, Period: 720 * time.Hour}
	if !p.Off || p.Publishers.Allow[0] != "a" || p.Publishers.Deny[0] != "b" || p.Operators.Deny[0] != "North" || *p.Caps != want {
		t.Errorf("read %+v", p)
	}
	if p, err := readPolicy(t, "{}"); err != nil || p.Off || p.Caps != nil {
		t.Errorf("an empty policy: %+v, %v", p, err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":      {`{"of": true}`, `"of"`},
		"repeated key":     {`{"off": true, "off": false}`, "twice"},
		"repeated by case": {`{"off": true, "OFF": false}`, "twice"},
		"nested repeated":  {`{"publishers": {"deny": ["a"], "deny": []}}`, "twice"},
		"wrong type":       {`{"off": "yes"}`, "off"},
		"not a duration":   {`{"caps": {"period": "a month"}}`, "duration"},
		"no period":        {`{"caps": {"window": {"epsilon": 1}}}`, "period"},
		"negative cap":     {`{"caps": {"plan": {"epsilon": -1}}}`, "negative"},
		"trailing text":    {`{} {}`, "something follows"},
		"cut short":        {`{"off": true`, "EOF"},
		"empty":            {"", "EOF"},
		"an array":         {"[]", "array"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readPolicy(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not mention %q", err, c.want)
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a policy that is not there allows everything")
	}
}
