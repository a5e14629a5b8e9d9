// Package apicheck holds the tree to two lists: exported names that no other package uses,
// and functions that no command reaches. What is on neither list has a user; what is, has
// a reason beside it.
package apicheck

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

const module = "github.com/confetti-dp/confetti"

// product and lab are the folders of the two modules.
const product, lab = "../../..", "../../../lab"

// load reads packages of a module; it fails on one that does not compile.
func load(t *testing.T, dir string, mode packages.LoadMode, tests bool, patterns ...string) []*packages.Package {
	t.Helper()
	env := os.Environ()
	if dir == lab { // which is made of packages that are compiled for the product already
		env = append(env, "GOWORK="+doctest.Together(t, product, lab))
	}
	all, err := packages.Load(&packages.Config{Mode: mode, Dir: dir, Env: env, Tests: tests}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		for _, e := range p.Errors {
			t.Fatalf("%s: %v", p.ID, e)
		}
	}
	return all
}

// check holds what was found to a list of lines "name: reason"; a line ending in "/..."
// stands for all names below it. Every name found has a line, and every line stands for
// something that was found.
func check(t interface{ Errorf(string, ...any) }, file string, reasons map[string]string, found map[string]bool) {
	stale := maps.Clone(reasons)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		line := name
		for reasons[line] == "" && line != "" {
			line = above(line)
		}
		if line == "" {
			t.Errorf("%s is not in %s: remove it, use it, or give a reason there", name, file)
		}
		delete(stale, line)
	}
	for _, name := range slices.Sorted(maps.Keys(stale)) {
		t.Errorf("%s lists %s, which is gone or has a user now", file, name)
	}
}

// above is the line that stands for a name and its neighbours; "" above all.
func above(line string) string {
	line = strings.TrimSuffix(line, "/...")
	at := strings.LastIndexAny(line, "./")
	if at < 0 {
		return ""
	}
	return line[:at] + "/..."
}

// list reads the lines of a file.
func list(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	reasons := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(reason) == "" {
			t.Errorf("%s: %q has no reason", file, line)
		}
		reasons[name] = reason
	}
	return reasons
}

// ours is the path of a package within the tree, tests of it included.
func ours(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(strings.TrimSuffix(path, "_test"), module+"/")
	return name, ok && !strings.HasSuffix(name, ".test")
}

func TestListsAreHeldTo(t *testing.T) {
	file := t.TempDir() + "/list"
	if err := os.WriteFile(file, []byte("# words\ndp/a.F: a library's users need it\ndp/b/...: later\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, found := range map[string][]string{
		"":                         {"dp/a.F", "dp/b.G", "dp/b.T.M"},
		"dp/a.G is not in":         {"dp/a.F", "dp/a.G", "dp/b.G"},
		"lists dp/a.F, which is":   {"dp/b.G"},
		"lists dp/b/..., which is": {"dp/a.F"},
	} {
		names := map[string]bool{}
		for _, n := range found {
			names[n] = true
		}
		r := &recorder{}
		check(r, file, list(t, file), names)
		if got := strings.Join(r.errors, "\n"); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", found, got, want)
		}
	}
}

type recorder struct{ errors []string }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
