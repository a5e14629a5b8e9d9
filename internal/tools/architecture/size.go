package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// Size is what a reader of a package faces, tests left out.
type Size struct {
	Lines int
	Names int // exported, methods left out
}

// Measure returns the size of each package that Read finds.
func Measure(tree fs.FS) (map[string]Size, error) {
	found, err := Read(tree)
	if err != nil {
		return nil, err
	}
	sizes := map[string]Size{}
	for pkg := range found {
		files, err := fs.Glob(tree, path.Join(pkg, "*.go"))
		if err != nil {
			return nil, err
		}
		var s Size
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return nil, err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			s.Lines += bytes.Count(text, []byte("\n"))
			s.Names += exported(f)
		}
		sizes[pkg] = s
	}
	return sizes, nil
}

// exported counts the exported functions, types, constants and variables of a file.
func exported(f *ast.File) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
	return n
}

// Public reports whether a package can be imported from outside of the module, and is no program.
func (f Imports) Public(pkg string) bool {
	return pkg != "." && !strings.HasPrefix(pkg, "cmd/") && !strings.Contains("/"+pkg+"/", "/internal/")
}
