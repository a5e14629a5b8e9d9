package glossary

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "take the words from docs/words.md")

// What is said is what the documentation says, each word once.
func TestWordsAreThoseOfThePage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/words.md")
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
		t.Error("docs/words.md says something else: go test ./internal/release/glossary -args -update")
	}
	all, names := Words(), map[string]bool{}
	for _, w := range all {
		names[w.Name] = true
	}
	if len(all) < 40 || strings.Count(page, "\n## ") != len(names) {
		t.Errorf("%d words, of which %d are different ones", len(all), len(names))
	}
}
