// Package architecture reads which package imports which, measures packages, and draws the rooms. Used by
// internal/tools/architecture/draw and by tests of the house.
package architecture

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Module is the path of this module, with the slash that ends it.
const Module = "github.com/confetti-dp/confetti/"

// Programs are what is built and shipped.
var Programs = []string{"cmd/confetti", "cmd/confetti-server", "cmd/confetti-shuffler", "cmd/confetti-shuffler-postgres", "cmd/confetti-aggregator", "cmd/confetti-aggregator-postgres"}

// Imports maps each of our packages, by its folder, to what its files import,
// tests left out. Our own packages stand without the module's path.
type Imports map[string][]string

// Read parses the files of a tree itself: who asked the go command would be
// served from its cache.
func Read(tree fs.FS) (Imports, error) {
	found := Imports{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "third_party" || base == "out" || base == "bin") {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); name != "." && err == nil {
				return fs.SkipDir // another module
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		found[pkg] = append(found[pkg], []string{}...)
		for _, i := range f.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			found[pkg] = append(found[pkg], strings.TrimPrefix(to, Module))
		}
		return nil
	})
	return found, err
}

// Reach returns every package of ours that pkg imports, directly or not.
func (f Imports) Reach(pkg string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(p string) {
		for _, to := range f[p] {
			if _, ours := f[to]; ours && !seen[to] {
				seen[to] = true
				visit(to)
			}
		}
	}
	visit(pkg)
	return seen
}
