package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A word stands in docs/words.md once, in order, with one sentence and an example.
func TestWordsStandOnce(t *testing.T) {
	page, err := os.ReadFile("words.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z][a-z-]*(?: [a-z]+)*) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(string(page), -1)
	var words []string
	for _, row := range rows[1:] {
		words = append(words, row[1])
		if strings.Contains(row[2], ". ") || len(strings.Fields(row[2])) > 30 {
			t.Errorf("%s: one sentence of up to 30 words", row[1])
		}
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) || len(words) < 25 || len(words)+2 != strings.Count(string(page), "\n| ") {
		t.Errorf("%d words, of %d rows, not in order or twice: %v", len(words), strings.Count(string(page), "\n| "), words)
	}
}
