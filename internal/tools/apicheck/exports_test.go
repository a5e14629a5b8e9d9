package apicheck

import (
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Every exported name of a package is used by another one, its tests included, or is part
// of what such a name says.
func TestExportedNamesHaveUsers(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole tree")
	}
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedExportFile | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax
	tree := load(t, product, mode, true, "./...")
	used := map[string]bool{}
	for _, p := range append(load(t, lab, mode, true, "./..."), tree...) {
		for _, o := range p.TypesInfo.Uses {
			if name, ok := exported(o); ok && !same(p.PkgPath, o.Pkg().Path()) {
				used[name] = true
			}
		}
	}
	idle := map[string]bool{}
	for _, p := range tree {
		name, ok := ours(p.PkgPath)
		if !ok || p.Name == "main" || p.ID != p.PkgPath || len(p.GoFiles) == 0 || strings.Contains(p.PkgPath, "/third_party/") {
			continue
		}
		spoken := said(p.Types, used)
		for _, n := range p.Types.Scope().Names() {
			if o := p.Types.Scope().Lookup(n); o.Exported() && !spoken[o] {
				idle[name+"."+n] = true
			}
		}
	}
	check(t, "testdata/exports.txt", list(t, "testdata/exports.txt"), idle)
}

// exported is the name of an exported object of one of our packages.
func exported(o types.Object) (string, bool) {
	if o.Pkg() == nil || !o.Exported() || o.Parent() != o.Pkg().Scope() {
		return "", false
	}
	pkg, ok := ours(o.Pkg().Path())
	return pkg + "." + o.Name(), ok
}

// same reports whether two paths are those of one package, or of its tests.
func same(a, b string) bool {
	x, _ := ours(a)
	y, _ := ours(b)
	return x == y
}

// said is every object of a package that is used, or that is spoken of by one that is: the
// type of a parameter, a result or an exported field, and the constants of such a type.
func said(p *types.Package, used map[string]bool) map[types.Object]bool {
	spoken := map[types.Object]bool{}
	var visit func(types.Type)
	say := func(o types.Object) {
		if o.Pkg() == p && !spoken[o] {
			spoken[o] = true
			visit(o.Type())
		}
	}
	seen := map[types.Type]bool{}
	visit = func(t types.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Named:
			say(t.Obj())
			for a := range t.TypeArgs().Types() {
				visit(a)
			}
			if t.Obj().Pkg() == p {
				visit(t.Underlying())
				for m := range t.Methods() {
					if m.Exported() {
						visit(m.Type())
					}
				}
			}
		case *types.Alias:
			say(t.Obj())
			visit(t.Rhs())
		case *types.Signature:
			visit(t.Params())
			visit(t.Results())
		case *types.Tuple:
			for v := range t.Variables() {
				visit(v.Type())
			}
		case *types.Struct:
			for f := range t.Fields() {
				if f.Exported() {
					visit(f.Type())
				}
			}
		case *types.Interface:
			for m := range t.Methods() {
				visit(m.Type())
			}
		case interface{ Elem() types.Type }:
			visit(t.Elem())
			if m, ok := t.(*types.Map); ok {
				visit(m.Key())
			}
		}
	}
	for _, n := range p.Scope().Names() {
		if name, ok := exported(p.Scope().Lookup(n)); ok && used[name] {
			say(p.Scope().Lookup(n))
		}
	}
	return spoken
}
