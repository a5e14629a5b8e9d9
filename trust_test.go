package confetti_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the lines of docs/trust.md anew")

// listed matches a file of docs/trust.md and its lines.
var listed = regexp.MustCompile("`([a-z0-9_/-]+\\.go)` \\((\\d+)\\)")

// docs/trust.md names files with their lines, and tests that are there.
func TestTrustIsInTheFilesThatAreNamed(t *testing.T) {
	const page = "docs/trust.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	counted := listed.ReplaceAllStringFunc(string(text), func(entry string) string {
		name := listed.FindStringSubmatch(entry)[1]
		code, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("`%s` (%d)", name, bytes.Count(code, []byte("\n")))
	})
	if *update {
		if err := os.WriteFile(page, []byte(counted), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if counted != string(text) {
		t.Errorf("%s has other lines than its files: go test -run Trust . -args -update", page)
	}
	if n := len(listed.FindAllString(counted, -1)); n < 20 {
		t.Errorf("%d files are named", n)
	}
	rows := regexp.MustCompile("`([a-z0-9_/.-]+)` (Test\\w+(?:, Test\\w+)*)").FindAllStringSubmatch(counted, -1)
	if len(rows) < 10 {
		t.Fatalf("%d packages with tests are named", len(rows))
	}
	for _, row := range rows {
		files, err := filepath.Glob(filepath.Join(row[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, f := range files {
			code, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(code)
		}
		for name := range strings.SplitSeq(row[2], ", ") {
			if !strings.Contains(all.String(), "func "+name+"(") {
				t.Errorf("%s: %s has no %s", page, row[1], name)
			}
		}
	}
}

// counts matches a comparison of a number with a plan's minimum.
var counts = regexp.MustCompile(`[<>]=? *(u?int(64)?\()?[A-Za-z.]*\.Minimum\b`)

// unlisted returns the files that compare with a plan's minimum, and that a page does not name. Plans,
// simulations, commands and pages compare to advise.
func unlisted(tree fs.FS, page string) (names []string, err error) {
	for _, room := range []string{"client", "party", "protocol", "release", "internal/service", "internal/shuffler", "internal/wire", "internal/dap"} {
		err := fs.WalkDir(tree, room, func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // a planted tree has few
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || below(name, "internal/service/console") {
				return err
			}
			code, err := fs.ReadFile(tree, name)
			if counts.Match(code) && !strings.Contains(page, "`"+name+"`") {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// docs/trust.md lists whoever checks the size of a crowd.
func TestTrustListsWhoChecksACrowdsSize(t *testing.T) {
	page, err := os.ReadFile("docs/trust.md")
	if err != nil {
		t.Fatal(err)
	}
	_, crowds, found := strings.Cut(string(page), "## Where small crowds are withheld")
	names, err := unlisted(os.DirFS("."), crowds)
	if err != nil || !found {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Errorf("%s compares with a plan's minimum: add a row to docs/trust.md, with the test that breaks", name)
	}
	planted := fstest.MapFS{
		"party/hop/a.go": {Data: []byte("package hop\n\nfunc f(n uint64, p plan) bool { return n < uint64(p.Crowd.Minimum) }\n")},
		"party/hop/b.go": {Data: []byte("package hop\n\nfunc g(p plan) int { return p.Crowd.Minimum }\n")},
	}
	if names, err := unlisted(planted, "`party/hop/b.go`"); err != nil || len(names) != 1 || names[0] != "party/hop/a.go" {
		t.Errorf("planted: %v, %v", names, err)
	}
}
