package explain

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

func TestAWordIsExplained(t *testing.T) {
	for term, want := range map[string]string{
		"crowd":             "The respondents who are mixed together, at least a plan's minimum. Example: everybody who named one region.\n",
		"Crowds":            "The respondents who are mixed together, at least a plan's minimum. Example: everybody who named one region.\n",
		"ledger of budgets": "What the plans of a population have spent, at its analyzer. Example: confetti budget show.\n",
	} {
		var out strings.Builder
		if err := (Command{Term: strings.Fields(term)}).Run(terminal.Streams{Out: &out}); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", term, out.String(), err)
		}
	}
	var out strings.Builder
	if err := (Command{}).Run(terminal.Streams{Out: &out}); err != nil || !strings.HasPrefix(out.String(), "adjacency\naggregator\n") {
		t.Errorf("the list: %q, %v", out.String(), err)
	}
	for term, want := range map[string]string{"epsilom": `"epsilon"`, "backstopp": `"backstop"`, "zebra": "confetti explain lists all"} {
		if err := (Command{Term: []string{term}}).Run(terminal.Streams{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", term, err, want)
		}
	}
}
