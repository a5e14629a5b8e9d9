package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The lines that the first page for developers of apps prints are those of an example that runs.
func TestTheQuickstartRuns(t *testing.T) {
	_, code, _ := strings.Cut(read(t, "quickstart.md"), "```go\n")
	code, _, found := strings.Cut(code, "```")
	example := read(t, "../client/example_test.go")
	if body := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t"); !found || !strings.Contains(example, body) {
		t.Errorf("client/example_test.go does not have these lines:\n%s", code)
	}
}

// Whoever looks for a page finds it.
func TestEveryPageIsOnTheMap(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	guide := read(t, "README.md")
	for _, page := range pages {
		if page != "README.md" && !strings.Contains(guide, "("+page+")") {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}
