//go:build unix

package docs_test

import (
	"strings"
	"testing"
)

// foreseen are printed commands of the playbook that fail, or warn, and the reason that the text gives.
var foreseen = map[string]string{
	"! confetti-shuffler --config drill/instance-1-hop-1/shuffler.toml":           "--set-aside",
	"confetti-shuffler --config drill/instance-1-hop-1/shuffler.toml --set-aside": "set aside, ",
	"! confetti top --dir drill":                                                 "damaged on disk and set aside, ",
	"sleep 2; ! confetti top --dir drill":                                        "unauthenticated",
	"! confetti release fetch --dir drill-2 --out drill-2/release":               "asked by mistake",
	"! confetti plan verify drill-3.signed.json --publishers drill-3.publishers": "revoked",
	"confetti release verify drill/release --publishers drill/publishers.txt":    "whole contributions opened",
	"confetti publishers show drill-3.publishers":                                "revoked",
}

// The playbook is rehearsed: every command of it does what it is printed for, from a
// fresh clone, one after the other. Those that must fail are printed with an
// exclamation mark.
func TestIncidents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs collections")
	}
	drill(t, cloned(t), nil, asPrinted)
}

// drill types the playbook, less what is exempt, and compares what commands say with the text's reason.
func drill(t *testing.T, root string, exempt map[string]string, as typing) {
	t.Helper()
	said := reader(t, root, exempt, 45, "docs/incidents.md").typed(t, as)
	for command, words := range foreseen {
		if out, printed := said[command]; (!printed || !strings.Contains(out, words)) && exempt[command] == "" {
			t.Errorf("%s (printed: %v) does not say %q:\n%s", command, printed, words, out)
		}
	}
}
