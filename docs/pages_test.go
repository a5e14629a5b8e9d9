package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
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
	code, rest, found := strings.Cut(code, "```")
	example := read(t, "../client/example_test.go")
	if body := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t"); !found || !strings.Contains(example, body) {
		t.Errorf("client/example_test.go does not have these lines:\n%s", code)
	}
	_, imports, _ := strings.Cut(rest, "```go\nimport (\n")
	imports, _, found = strings.Cut(imports, ")\n```")
	for _, line := range strings.FieldsFunc(imports, func(r rune) bool { return r == '\n' }) {
		if line, _, _ = strings.Cut(strings.TrimSpace(line), " //"); !strings.Contains(example, "\t"+line+"\n") {
			t.Errorf("client/example_test.go does not import %s", line)
		}
	}
	if !found || !strings.Contains(imports, "question/") {
		t.Error("the quickstart imports no kind of question")
	}
}

// Whoever looks for a page finds it.
func TestEveryPageIsOnTheMap(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	tutorials, err := filepath.Glob("tutorials/*.md")
	if err != nil || len(tutorials) == 0 {
		t.Fatal(tutorials, err)
	}
	pages = append(pages, tutorials...)
	guide := read(t, "README.md")
	for _, page := range pages {
		if page != "README.md" && !strings.Contains(guide, "("+page+")") {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}

// Every command that the list of needs names is run: by a script of the commands' own, or by
// whoever types a page.
func TestNeedsNameCommandsThatAreRun(t *testing.T) {
	scripts, err := filepath.Glob("../cmd/confetti/testdata/script/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	run := ""
	for _, file := range append(scripts, "../README.md", "operating.md", "operating-roles.md", "operating-day2.md", "auditing.md", "auditing-evidence.md", "sums.md", "console.md", "console-run.md") {
		run += read(t, file)
	}
	needs := read(t, "needs.md")
	named := regexp.MustCompile("`(confetti( [a-z][a-z-]*)+)").FindAllStringSubmatch(needs, -1)
	if len(named) < 15 || strings.Count(needs, "\n| 1") != 7 {
		t.Fatalf("%d commands are named", len(named))
	}
	// Those of the page's own blocks are run as they stand there.
	script := read(t, "../cmd/confetti/testdata/script/needs.txt")
	var blocks []string
	for _, part := range strings.Split(needs, "```sh\n")[1:] {
		block, _, ends := strings.Cut(part, "```")
		if !ends {
			t.Fatal("a block of commands does not end")
		}
		blocks = append(blocks, block)
	}
	lines := strings.Split(strings.TrimSpace(strings.Join(blocks, "")), "\n")
	if len(lines) < 28 {
		t.Fatalf("the page has %d commands", len(lines))
	}
	var block strings.Builder
	for _, line := range lines {
		command, _, _ := strings.Cut(line, " #")
		if command = "exec " + strings.TrimSpace(command); !strings.Contains(script, command+"\n") && !strings.Contains(script, command+" &") {
			t.Errorf("%q is not run as it stands", command)
		}
		block.WriteString(command + "\n")
	}
	// And so is every command of the table, but for the poll, which needs phones.
	table, _, _ := strings.Cut(needs, "```sh")
	for _, one := range regexp.MustCompile("`(confetti( [a-z][a-z-]*)+)").FindAllStringSubmatch(table, -1) {
		if one[1] != "confetti up poll" && !strings.Contains(block.String(), "exec "+one[1]) {
			t.Errorf("%q stands in the table alone", one[1])
		}
	}
	for _, one := range named {
		words := strings.Fields(one[1])
		if !strings.Contains(run, strings.Join(words[:min(3, len(words))], " ")) {
			t.Errorf("%q is run nowhere", one[1])
		}
	}
}
