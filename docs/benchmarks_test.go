package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// typed matches a command that measures, as pages print it.
var typed = regexp.MustCompile("go test (?:'[^'\n]*'|[^`'\n#|])*-bench (?:'[^'\n]*'|[^`'\n#|])*")

// printed is what such a command asks for.
type printed struct {
	page, text, pattern string
	module              string // folder of a nested one
	folders             []string
}

func measuredIn(page, text string) (all []printed) {
	for _, command := range typed.FindAllString(text, -1) {
		one := printed{page: page, text: command}
		for i, word := range strings.Fields(command) {
			word = strings.Trim(word, "',;:)")
			if words := strings.Fields(command); i > 0 && words[i-1] == "-bench" {
				one.pattern = word
			} else if i > 0 && words[i-1] == "-C" {
				one.module = word
			} else if word == "." || strings.HasPrefix(word, "./") {
				one.folders = append(one.folders, word)
			}
		}
		all = append(all, one)
	}
	return all
}

// fault says what of a command cannot be typed; "" where nothing is.
func (m printed) fault(tree fs.FS) string {
	if strings.Contains(m.text, " -cpu") {
		return "-cpu does not hold for a benchmark with b.Loop: set GOMAXPROCS for the process"
	}
	pattern, err := regexp.Compile(strings.SplitN(m.pattern, "/", 2)[0])
	if err != nil {
		return err.Error()
	}
	for _, folder := range slices.Compact(append(m.folders, "")) {
		if folder == "" || strings.HasSuffix(folder, "...") {
			if len(m.folders) == 0 {
				return "it names no folder"
			}
			continue
		}
		files, err := fs.Glob(tree, filepath.Join(m.module, folder, "*_test.go"))
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(files, func(name string) bool {
			text, err := fs.ReadFile(tree, name)
			return err == nil && slices.ContainsFunc(benchmark.FindAllSubmatch(text, -1), func(found [][]byte) bool { return pattern.Match(found[1]) })
		}) {
			return fmt.Sprintf("%s has no benchmark %s", folder, m.pattern)
		}
	}
	return ""
}

var benchmark = regexp.MustCompile(`(?m)^func (Benchmark\w+)`)

// Every command that measures names benchmarks that there are, in folders that there are, and sets
// its cores for the process.
func TestPrintedBenchmarksAreThere(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../README.md", "../DESIGN.md") {
		for _, m := range measuredIn(page, read(t, page)) {
			seen++
			if fault := m.fault(os.DirFS("..")); fault != "" {
				t.Errorf("%s: %s: %s", page, m.text, fault)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d commands measure", seen)
	}
	for text, want := range map[string]string{
		"    GOMAXPROCS=1 go test -run '^$' -bench Query -benchtime 1s .\n": "",
		"    go test -run '^$' -bench Query -cpu 1,2 .\n":                   "GOMAXPROCS",
		"    go test -run '^$' -bench Query ./shuffler\n":                   "./shuffler has no benchmark",
		"    go test -C lab -run '^$' -bench Query .\n":                     "has no benchmark",
		"`go test -run '^$' -bench Nothing .`":                              "no benchmark",
		"`go test -run '^$' -bench Query`":                                  "no folder",
	} {
		found := measuredIn("planted", text)
		if len(found) != 1 || !strings.Contains(found[0].fault(os.DirFS("..")), want) || want == "" && found[0].fault(os.DirFS("..")) != "" {
			t.Errorf("%q: %+v", text, found)
		}
	}
}
