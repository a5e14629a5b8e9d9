package apicheck

import (
	"go/ast"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// Every function of the packages that a command is made of can be reached by one. A function is
// reached where something reached mentions it. A method is, too, where something reached mentions
// its type, and an interface asks for the method: one whose method is called by us, or any that a
// library declares.
func TestCommandsReachEveryFunction(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the whole tree")
	}
	reached := map[string]bool{}
	reach(t, lab, reached)
	declared := reach(t, product, reached)
	idle := map[string]bool{}
	for name := range declared {
		if !reached[name] {
			idle[name] = true
		}
	}
	check(t, "testdata/deadcode.txt", list(t, "testdata/deadcode.txt"), idle)
}

// What is called without an interface that a package declares: by the standard library's own
// unnamed ones, and by reflection of kong.
var asked = []string{"Is", "As", "Unwrap", "Timeout", "Run", "AfterApply", "BeforeApply", "Help"}

// walk is what has been reached of the packages of one module.
type walk struct {
	bodies  map[string][]body          // of functions, by name
	reached map[string]bool            // functions
	made    map[*types.Named]bool      // types
	called  map[*types.Interface]bool  // interfaces of which a method is called, or that are a library's
	fields  map[string]bool            // methods that templates and reflection call
	methods map[*types.Named][]*method // those of types made, that nothing has asked for yet
}

// body is what mentions something, with what its identifiers mean.
type body struct {
	node ast.Node
	info *types.Info
}

// method is one of a type that was made, by the name of where it is declared.
type method struct {
	is  *types.Func
	its *types.Named
}

// reach marks the functions that the commands of a module reach, by name, and returns all that
// the packages of these commands declare.
func reach(t *testing.T, dir string, reached map[string]bool) (declared map[string]bool) {
	t.Helper()
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedExportFile | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedSyntax
	all := map[string]*packages.Package{}
	var commands []string
	for _, p := range load(t, dir, mode, false, linked(t, dir)...) {
		all[p.PkgPath] = p
		if p.Name == "main" && strings.Contains(p.PkgPath, "/cmd/") {
			commands = append(commands, p.PkgPath)
		}
	}
	if len(commands) == 0 {
		t.Fatalf("no commands in %s", dir)
	}
	w := &walk{bodies: map[string][]body{}, reached: reached, made: map[*types.Named]bool{}, called: map[*types.Interface]bool{}, fields: templates(t, dir), methods: map[*types.Named][]*method{}}
	for _, name := range asked {
		w.fields[name] = true
	}
	declared = map[string]bool{}
	var roots []body
	done := map[string]bool{}
	var link func(path string)
	link = func(path string) {
		p := all[path]
		if done[path] || p == nil {
			return
		}
		done[path] = true
		for to := range p.Imports {
			link(to)
		}
		roots = append(roots, w.declare(p, declared)...)
	}
	for _, path := range commands {
		link(path)
	}
	w.called[types.Universe.Lookup("error").Type().Underlying().(*types.Interface)] = true
	seen := map[*types.Package]bool{}
	for path := range done {
		w.libraries(all[path].Types, seen)
	}
	for _, r := range roots {
		w.mention(r)
	}
	for w.ask() { // each new method may call another interface
	}
	return declared
}

// linked returns the packages of ours that the commands of a module are made of.
func linked(t *testing.T, dir string) (ourPaths []string) {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "./cmd/...")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(out)) {
		if _, our := ours(strings.TrimSpace(path)); our && !strings.Contains(path, "/third_party/") {
			ourPaths = append(ourPaths, strings.TrimSpace(path))
		}
	}
	return ourPaths
}

// declare keeps the bodies of a package's functions, and returns what runs when it is linked:
// init, main, and the values of its variables.
func (w *walk) declare(p *packages.Package, declared map[string]bool) (runs []body) {
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			switch {
			case !ok:
				runs = append(runs, vars(d, p.TypesInfo)...)
			case f.Name.Name == "init", f.Name.Name == "_", f.Name.Name == "main" && p.Name == "main":
				runs = append(runs, body{f, p.TypesInfo})
			default:
				name := named(p.TypesInfo.Defs[f.Name].(*types.Func))
				declared[name] = true
				w.bodies[name] = append(w.bodies[name], body{f, p.TypesInfo})
			}
		}
	}
	return runs
}

// vars returns the values of the variables that a declaration makes.
func vars(d ast.Decl, info *types.Info) (values []body) {
	for _, s := range d.(*ast.GenDecl).Specs {
		if v, ok := s.(*ast.ValueSpec); ok && !slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == "_" }) {
			values = append(values, body{v, info})
		}
	}
	return values
}

// named returns the name of a function or method of ours, as the list has it.
func named(f *types.Func) string {
	f = f.Origin()
	pkg, _ := ours(f.Pkg().Path())
	if recv := f.Signature().Recv(); recv != nil {
		if t := its(recv.Type()); t != nil {
			return pkg + "." + t.Obj().Name() + "." + f.Name()
		}
	}
	return pkg + "." + f.Name()
}

// its returns the named type of a type or of what it points to, nil where there is none.
func its(t types.Type) *types.Named {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}

// libraries adds the interfaces that packages of others declare, which may call what they ask for.
func (w *walk) libraries(p *types.Package, seen map[*types.Package]bool) {
	if seen[p] {
		return
	}
	seen[p] = true
	if _, our := ours(p.Path()); !our {
		for _, n := range p.Scope().Names() {
			if o, ok := p.Scope().Lookup(n).(*types.TypeName); ok && types.IsInterface(o.Type()) {
				w.called[o.Type().Underlying().(*types.Interface)] = true
			}
		}
	}
	for _, to := range p.Imports() {
		w.libraries(to, seen)
	}
}

// mention reaches what a body names.
func (w *walk) mention(b body) {
	ast.Inspect(b.node, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if tv, ok := b.info.Types[e]; ok {
				w.make(tv.Type)
			}
		}
		if id, ok := n.(*ast.Ident); ok {
			if f, ok := b.info.Uses[id].(*types.Func); ok {
				w.use(f)
			}
		}
		return true
	})
}

// use reaches a function that is called or taken as a value.
func (w *walk) use(f *types.Func) {
	if f.Pkg() == nil {
		return
	}
	if recv := f.Signature().Recv(); recv != nil {
		if i, ok := recv.Type().Underlying().(*types.Interface); ok {
			w.called[i] = true
			return
		}
	}
	name := named(f)
	if _, our := ours(f.Pkg().Path()); our && !w.reached[name] || our && w.bodies[name] != nil {
		w.reached[name] = true
		bodies := w.bodies[name]
		delete(w.bodies, name)
		for _, b := range bodies {
			w.mention(b)
		}
	}
}

// make keeps the methods of a type, and of what it is made of, for who may ask for them.
func (w *walk) make(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if n := t.Origin(); w.made[n] || n.Obj().Pkg() == nil {
			return
		}
		w.made[t.Origin()] = true
		for i := range t.TypeArgs().Len() {
			w.make(t.TypeArgs().At(i))
		}
		if _, our := ours(t.Obj().Pkg().Path()); !our {
			return
		}
		for s := range types.NewMethodSet(types.NewPointer(t)).Methods() {
			if f := s.Obj().(*types.Func); f.Pkg() != nil {
				w.methods[t] = append(w.methods[t], &method{f, t})
			}
		}
		w.make(t.Underlying())
	case *types.Struct:
		for f := range t.Fields() {
			w.make(f.Type())
		}
	case *types.Map:
		w.make(t.Key())
		w.make(t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.make(v.Type())
		}
	case *types.Signature:
		w.make(t.Params())
		w.make(t.Results())
	case interface{ Elem() types.Type }:
		w.make(t.Elem())
	}
}

// ask reaches the methods that an interface asks of a type, or that a template or reflection may
// call by name. It reports whether there was a new one.
func (w *walk) ask() (more bool) {
	for t, methods := range w.methods {
		left := methods[:0:0]
		var found []*types.Func
		for _, m := range methods {
			if w.fields[m.is.Name()] || w.wanted(m) {
				found = append(found, m.is)
			} else {
				left = append(left, m)
			}
		}
		w.methods[t] = left
		for _, f := range found {
			w.use(f)
			more = true
		}
	}
	return more
}

// wanted reports whether a called interface that the method's type implements has the method.
func (w *walk) wanted(m *method) bool {
	for i := range w.called {
		for j := range i.NumMethods() {
			if f := i.Method(j); f.Name() == m.is.Name() && (m.its.TypeParams().Len() > 0 || types.Implements(types.NewPointer(m.its), i)) {
				return true
			}
		}
	}
	return false
}

// dotted is a name that a template asks for.
var dotted = regexp.MustCompile(`\.([A-Z]\w*)`)

// templates returns the names that the templates of a module ask for.
func templates(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata") {
			if d != nil && d.IsDir() && err == nil {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".html") && !strings.HasSuffix(path, ".tmpl") {
			return nil
		}
		text, err := os.ReadFile(dir + "/" + path)
		for _, m := range dotted.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// What nothing reaches is found, and what is reached by an interface, a value or an instance is not.
func TestDeadFunctionsAreFound(t *testing.T) {
	reached := map[string]bool{}
	var idle []string
	for name := range reach(t, "testdata/planted", reached) {
		if !reached[name] {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	if want := []string{"cmd/p.cat.String", "cmd/p.dead", "cmd/p.dog.Wag", "cmd/p.pair.put"}; !slices.Equal(idle, want) {
		t.Errorf("idle: %q, want %q", idle, want)
	}
}
