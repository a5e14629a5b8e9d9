package apicheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/callgraph/rta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// Every function of the packages that a command is made of can be reached by one: calls by
// interfaces, and through functions as values, count where the type or the function is
// made anywhere (rapid type analysis, as golang.org/x/tools/cmd/deadcode has it).
func TestCommandsReachEveryFunction(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every dependency to SSA")
	}
	reached := map[token.Position]bool{}
	reach(t, lab, reached)
	tree := reach(t, product, reached)
	idle := map[string]bool{}
	packages.Visit(tree, nil, func(p *packages.Package) {
		pkg, ok := ours(p.PkgPath)
		if !ok {
			return
		}
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && f.Name.Name != "init" && f.Name.Name != "_" && !reached[p.Fset.Position(f.Name.Pos())] {
					idle[pkg+"."+receiver(f)+f.Name.Name] = true
				}
			}
		}
	})
	check(t, "testdata/deadcode.txt", list(t, "testdata/deadcode.txt"), idle)
}

// reach marks the functions that the commands of a module reach, by where they are declared:
// instances of a generic one, and wrappers of a method, share that. It returns the commands.
func reach(t *testing.T, dir string, reached map[token.Position]bool) []*packages.Package {
	t.Helper()
	tree := load(t, dir, packages.LoadAllSyntax, false, "./cmd/...")
	packages.Visit(tree, nil, func(p *packages.Package) {
		p.IllTyped = false // a file without bodies has imports that it does not use
	})
	prog, all := ssautil.AllPackages(tree, ssa.InstantiateGenerics)
	prog.Build()
	var roots []*ssa.Function
	for _, m := range ssautil.MainPackages(all) {
		roots = append(roots, m.Func("init"), m.Func("main"))
	}
	if len(roots) == 0 {
		t.Fatalf("no commands in %s", dir)
	}
	for f := range rta.Analyze(roots, false).Reachable {
		if f.Pos().IsValid() {
			reached[prog.Fset.Position(f.Pos())] = true
		}
	}
	return tree
}

// given are libraries, a million lines, that call nothing of ours but what they are given as a
// value to keep. Their bodies are left out: they were most of what this test held in memory.
var given = []string{
	"/modernc.org/", "/github.com/nats-io/", "/github.com/minio/", "/github.com/klauspost/", "/github.com/jackc/", "/github.com/pressly/",
	"/github.com/parquet-go/", "/github.com/prometheus/", "/github.com/pierrec/", "/github.com/andybalholm/", "/github.com/tinylib/", "/github.com/rivo/",
	"/google.golang.org/", "/golang.org/x/", "/go.yaml.in/", "/codeberg.org/", "/gonum.org/v1/plot", "/src/crypto/internal/", "/src/image/", "/src/compress/", "/src/debug/", "/src/go/", "/src/vendor/golang.org/x/text/",
}

// parse reads a file; of what is given without the bodies of functions.
func parse(set *token.FileSet, name string, text []byte) (*ast.File, error) {
	f, err := parser.ParseFile(set, name, text, parser.AllErrors|parser.SkipObjectResolution)
	if f == nil || !slices.ContainsFunc(given, func(s string) bool { return strings.Contains(filepath.ToSlash(name), s) }) {
		return f, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
	return f, err
}

// receiver is the type of a method and a dot, and nothing for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	var name strings.Builder
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name.Len() == 0 {
			name.WriteString(id.Name + ".")
		}
		return true
	})
	return name.String()
}
