package explain

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
)

var update = flag.Bool("update", false, "take the words from docs/words.md")

// What is printed is what the documentation says.
func TestWordsAreThoseOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/words.md")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("words.md", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != page {
		t.Error("docs/words.md says something else: go test ./cmd/confetti/internal/explain -args -update")
	}
	names, meaning := read(page)
	if len(names) < 40 || strings.Count(page, "\n## ") != len(meaning) {
		t.Errorf("%d words, of which %d are different ones", len(names), len(meaning))
	}
}

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
