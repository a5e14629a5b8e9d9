package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/keyfile/partykey"
	"github.com/confetti-dp/confetti/internal/plan/author"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
)

// A plan that fills every text of its own with what commands a terminal, or turns text
// round, commands nothing, whatever the command that prints of it.
func TestPlansDoNotWriteToTheTerminal(t *testing.T) {
	const escapes = "\x1b]0;owned\x07\x1b[2J\r\u009b31m\u202e"
	const hidden = "\x1b\x07\r\u009b\u202e\u2066"
	const turns = "\u202e\u2066"
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	said := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(args, terminal.Streams{Out: &out, Err: &errs})
		return code, out.String() + errs.String()
	}
	domain := at("domain.txt")
	if err := os.WriteFile(domain, []byte("tea\ncoffee\nwater\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, args := range map[string][]string{
		"histogram": {"--attribute", "drink", "--domain", domain, "--epsilon", "1", "--minimum", "100"},
		"density":   {"--dimension", "16", "--classes", "A,B", "--epsilon", "2", "--minimum", "3000"},
	} {
		draft := at(kind + ".toml")
		if code, text := said(append([]string{"plan", "new", kind, draft, "--keys", at(kind + "-keys")}, args...)...); code != 0 {
			t.Fatal(text)
		}
		text, err := os.ReadFile(draft)
		if err != nil {
			t.Fatal(err)
		}
		p, err := author.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Title += escapes
		for i := range p.Route.Mix.Instances {
			for h := range p.Route.Mix.Instances[i].Hops {
				p.Route.Mix.Instances[i].Hops[h].Operator += escapes
			}
		}
		p.Analyzer.Operator += escapes
		if h := p.Question.Histogram; h != nil {
			h.Attributes[0].Name += turns // plans refuse control characters here
			for i := range h.Attributes[0].Values {
				h.Attributes[0].Values[i] += turns
			}
		}
		if d := p.Question.Density; d != nil {
			for i := range p.Crowd.Names {
				p.Crowd.Names[i] += turns
			}
			d.Vocabulary += escapes
		}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		hostile, signed, again := at(kind+".json"), at(kind+".signed.json"), at(kind+".again.json")
		sign, err := relay.GenerateSignKey()
		if err != nil {
			t.Fatal(err)
		}
		if err := partykey.CreateSigning(at(kind+".key"), sign, "test"); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{hostile: p.Canonical(), signed: plan.Sign(p, sign.Private()).Marshal()} {
			if err := os.WriteFile(name, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// Whoever keeps its canonical form gets every byte.
		if _, text := said("plan", "show", hostile, "--json"); text != string(p.Canonical())+"\n" {
			t.Errorf("%s: the canonical form is shown as %q", kind, text)
		}
		publisher := sign.Public().String()
		shown := 0
		for _, command := range [][]string{
			{"plan", "show", hostile}, {"plan", "check", hostile}, {"plan", "check", signed},
			{"plan", "check", hostile, "--json"}, {"plan", "verify", signed, "--publisher", publisher}, {"plan", "sign", hostile, "--key", at(kind + ".key"), "--out", again},
			{"plan", "verify", signed, "--publisher", "ed25519:" + strings.Repeat("A", 43)},
			{"plan", "register", signed}, {"plan", "close", signed}, {"release", "fetch", signed, "--out", at("release")}, {"top", "--plan", signed},
			{"plan", "withdraw", signed, "--key", at(kind + ".key"), "--reason", "x" + escapes},
			{"submit", domain, "--plan", signed, "--publisher", publisher, "--folder", at(kind + "-device")},
			{"ledger", "show", at(kind + "-device")},
		} {
			_, text := said(command...)
			if strings.ContainsAny(text, hidden) {
				t.Errorf("%s: %v: %q", kind, command[:2], text)
			}
			if strings.Contains(text, `\x1b]0;owned\x07`) || strings.Contains(text, `\u001b]0;owned\u0007`) || strings.Contains(text, `\u001B]0;owned\u0007`) {
				shown++
			}
		}
		if shown < 2 {
			t.Errorf("%s: only %d commands show what the plan says", kind, shown)
		}
	}
}
