package confetti_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
