package confetti_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/confetti-dp/confetti/plan"
)

// decidesByName lists the places at which Go files decide by the name of a mechanism of a family: a
// comparison with one, or a second switch of its package that has one among its cases. A
// mechanism says what it can by methods, and a table of a package may have its name as a key:
// what is new there has nothing that it does not say of itself.
func decidesByName(tree fs.FS, mechanisms []string) (places []string, err error) {
	switches := map[string]int{}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"lab", "node_modules", "testdata", ".git"}, path.Base(name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		named := func(e ast.Expr) bool {
			lit, ok := e.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return false
			}
			value, err := strconv.Unquote(lit.Value)
			return err == nil && slices.Contains(mechanisms, value)
		}
		say := func(n ast.Node, what string) {
			places = append(places, fmt.Sprintf("%s: %s", set.Position(n.Pos()), what))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && (named(n.X) || named(n.Y)) {
					say(n, "compares with a mechanism's name")
				}
			case *ast.SwitchStmt:
				if slices.ContainsFunc(n.Body.List, func(s ast.Stmt) bool { return slices.ContainsFunc(s.(*ast.CaseClause).List, named) }) {
					if switches[path.Dir(name)]++; switches[path.Dir(name)] > 1 {
						say(n, "is another switch of this package over mechanisms' names")
					}
				}
			}
			return true
		})
		return nil
	})
	return places, err
}

// Whoever decides asks the mechanism for an ability.
func TestNothingIsDecidedByName(t *testing.T) {
	for _, family := range [][]string{plan.Randomizers, plan.Bitsums} {
		places, err := decidesByName(os.DirFS("."), family)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range places {
			t.Errorf("%s: ask the mechanism for the ability", p)
		}
	}
}

func TestPlantedDecisionByName(t *testing.T) {
	tree := fstest.MapFS{
		"a/a.go":      {Data: []byte("package a\nfunc f(n string) bool { return n == \"krr\" }\n")},
		"a/a_test.go": {Data: []byte("package a\nfunc g(n string) bool { return n != \"krr\" }\n")},
		"b/b.go":      {Data: []byte("package b\nfunc f(n string) int { switch n { case \"krr\": return 1 }; return 0 }\n")},
		"b/c.go":      {Data: []byte("package b\nfunc g(n string) int { switch { case n == \"other\": return 1 }; switch n { case \"x\", \"rr\": return 1 }; return 0 }\n")},
		"c/c.go":      {Data: []byte("package c\nvar m = map[string]int{\"krr\": 1}\n")},
	}
	places, err := decidesByName(tree, []string{"krr", "rr"})
	if err != nil || len(places) != 2 || !strings.HasPrefix(places[0], "a/a.go:2") || !strings.HasPrefix(places[1], "b/c.go:2") {
		t.Errorf("%q, %v", places, err)
	}
}
