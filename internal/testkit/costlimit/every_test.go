package costlimit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Every fuzz target of the tree says what its decoder may allocate.
func TestEveryFuzzTargetHasABudget(t *testing.T) {
	targets := 0
	err := filepath.WalkDir(filepath.FromSlash("../../.."), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "testdata" || len(name) > 2 && name[0] == '.') {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		budgeted := map[string]bool{}
		for _, again := range []bool{false, true} { // helpers first
			for _, d := range file.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.SelectorExpr:
						if x, ok := n.X.(*ast.Ident); ok && (x.Name == "costlimit" && n.Sel.Name == "Heap" || x.Name == "servetest" && n.Sel.Name == "FuzzConfig") {
							budgeted[fn.Name.Name] = true
						}
					case *ast.Ident:
						budgeted[fn.Name.Name] = budgeted[fn.Name.Name] || again && n.Name != fn.Name.Name && budgeted[n.Name]
					}
					return true
				})
			}
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				targets++
				if !budgeted[fn.Name.Name] {
					t.Errorf("%s: %s does not call costlimit.Heap", path, fn.Name.Name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if targets < 40 {
		t.Errorf("%d targets were found", targets)
	}
}
