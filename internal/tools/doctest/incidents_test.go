//go:build unix

package doctest

import (
	"strings"
	"testing"
	"time"
)

// The playbook is rehearsed: every command of it does what it is printed for, from a
// fresh clone, one after the other. Those that must fail are printed with an
// exclamation mark.
func TestIncidents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs collections")
	}
	root := Clone(t, "../../..")
	commands := CommandsIn(t, root, "docs/incidents.md")
	if len(commands) < 45 {
		t.Errorf("only %d commands are printed", len(commands))
	}
	s := NewSession(t, root, Patience(t))
	said := map[string]string{}
	for _, c := range commands {
		begun := time.Now()
		out, err := s.Run(c.Text)
		if err != nil {
			t.Fatalf("%s\n%v", c, err)
		}
		said[c.Text] = out
		t.Logf("%s (%.1f s)", c, time.Since(begun).Seconds())
	}
	// Those that failed did so for the reason that the text gives.
	for command, words := range map[string]string{
		"! confetti-shuffler --config drill/instance-1-hop-1/shuffler.toml":           "--set-aside",
		"confetti-shuffler --config drill/instance-1-hop-1/shuffler.toml --set-aside": "set aside, ",
		"! confetti top --dir drill":                                                 "damaged on disk and set aside, ",
		"sleep 2; ! confetti top --dir drill":                                        "unauthenticated",
		"! confetti release fetch --dir drill-2 --out drill-2/release":               "asked by mistake",
		"! confetti plan verify drill-3.signed.json --publishers drill-3.publishers": "revoked",
		"confetti release verify drill/release --publishers drill/publishers.txt":    "whole contributions opened",
		"confetti publishers show drill-3.publishers":                                "revoked",
	} {
		if out, printed := said[command]; !printed || !strings.Contains(out, words) {
			t.Errorf("%s (printed: %v) does not say %q:\n%s", command, printed, words, out)
		}
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
}
