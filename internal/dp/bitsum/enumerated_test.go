package bitsum

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Every sum of bits, a type whose devices send by RandomizeAll, has its estimate enumerated and its counts
// compared with their law: there are two tests of these names, in files that speak of the type.
func TestEverySumIsEnumerated(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	tested := map[string]map[string]bool{"EstimateByEnumeration": {}, "Counts": {}}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
			case fn.Recv != nil && fn.Name.Name == "RandomizeAll" && !strings.HasSuffix(name, "_test.go"):
				sums = append(sums, fn.Recv.List[0].Type.(*ast.Ident).Name)
			case fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test"):
				for end, of := range tested {
					if strings.HasSuffix(fn.Name.Name, end) {
						ast.Inspect(f, func(n ast.Node) bool { // its table may stand beside it
							if id, ok := n.(*ast.Ident); ok {
								of[id.Name] = true
							}
							return true
						})
					}
				}
			}
		}
	}
	if len(sums) < 5 {
		t.Errorf("the sums %v are found", sums)
	}
	for _, sum := range sums {
		for end, of := range tested {
			if !of[sum] {
				t.Errorf("%s is beside no test whose name ends with %s", sum, end)
			}
		}
	}
}
