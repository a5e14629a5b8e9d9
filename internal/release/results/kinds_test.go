package results

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/confetti-dp/confetti/internal/question/registry"
	_ "github.com/confetti-dp/confetti/question/all"
)

// What a kind has learned is described, is written as a table, and has words: the switches over models
// and over questions have each kind's.
func TestEveryKindIsWrittenUp(t *testing.T) {
	for function, in := range map[string]struct{ file, of string }{
		"Describe": {"findings.go", "Model"}, "sheetOf": {"findings.go", "Model"}, "speakerOf": {"words.go", "Question"},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), in.file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]bool{}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != function {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, of := range c.List {
						if star, ok := of.(*ast.StarExpr); ok {
							if model, ok := star.X.(*ast.SelectorExpr); ok && model.Sel.Name == in.of {
								cases[model.X.(*ast.Ident).Name] = true
							}
						}
					}
				}
				return true
			})
		}
		for _, kind := range registry.Names() {
			if !cases[kind] {
				t.Errorf("%s has no case for what %s learns", function, kind)
			}
		}
	}
}
