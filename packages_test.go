package confetti_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
)

// documented is what the tests below know of a package.
type documented struct {
	name    string   // of its package clause; "" where it has tests alone
	docs    []string // comments of its package clauses, tests left out
	imports []string // of ours
	inTests []string // that its tests import
}

// documents reads the packages of a tree, by folder, those of the module lab too.
func documents(tree fs.FS) (map[string]*documented, error) {
	all := map[string]*documented{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); name != "." && (strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "third_party", "out", "bin", "node_modules"}, base)) {
				return fs.SkipDir
			}
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); name != "." && name != "lab" && err == nil {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		pkg := all[path.Dir(name)]
		if pkg == nil {
			pkg = &documented{}
			all[path.Dir(name)] = pkg
		}
		tests := strings.HasSuffix(name, "_test.go")
		for _, i := range f.Imports {
			to, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if to, ours := strings.CutPrefix(to, architecture.Module); ours && tests {
				pkg.inTests = append(pkg.inTests, to)
			} else if ours {
				pkg.imports = append(pkg.imports, to)
			}
		}
		if !tests {
			pkg.name = f.Name.Name
			if f.Doc != nil {
				pkg.docs = append(pkg.docs, f.Doc.Text())
			}
		}
		return nil
	})
	return all, err
}

// stops is where a sentence of a comment ends.
var stops = regexp.MustCompile(`[.!?]\s+`)

// words matches what may be the name of a package, or of a folder of packages.
var words = regexp.MustCompile(`[a-z0-9](?:[a-z0-9_/-]*[a-z0-9])?`)

// misdocumented lists the packages whose comment does not begin with a paragraph of two sentences, what it
// does and who uses it, and those whose second sentence names a package that does not import them.
func misdocumented(tree fs.FS) (wrong []string, err error) {
	all, err := documents(tree)
	if err != nil {
		return nil, err
	}
	// importers maps a package to who imports it, with or without tests.
	importers := map[bool]map[string][]string{false: {}, true: {}}
	for folder, p := range all {
		for _, to := range p.imports {
			importers[false][to] = append(importers[false][to], folder)
			importers[true][to] = append(importers[true][to], folder)
		}
		for _, to := range p.inTests {
			importers[true][to] = append(importers[true][to], folder)
		}
	}
	some := func(folders []string, room string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return below(f, room) })
	}
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		p := all[folder]
		say := func(format string, a ...any) { wrong = append(wrong, folder+": "+fmt.Sprintf(format, a...)) }
		if p.name == "" {
			continue
		}
		if len(p.docs) != 1 {
			say("%d comments of the package: one says what it does and who uses it", len(p.docs))
			continue
		}
		first, _, _ := strings.Cut(p.docs[0], "\n\n")
		sentences := stops.Split(strings.TrimSpace(first), -1)
		if len(sentences) != 2 {
			say("%d sentences: the first says what it does, the second who uses it", len(sentences))
			continue
		}
		does, uses := strings.Join(strings.Fields(sentences[0]), " "), strings.Join(strings.Fields(sentences[1]), " ")
		for _, s := range []string{does, uses} {
			if n := len(strings.Fields(s)); n > 35 {
				say("a sentence of %d words: %s", n, s)
			}
		}
		subject := "Package " + p.name + " "
		if p.name == "main" {
			subject = "Command " + path.Base(folder) + " "
		}
		verb, named := strings.CutPrefix(does, subject)
		if !named || slices.Contains([]string{"is", "are", "has", "have"}, strings.Fields(verb + " -")[0]) {
			say("the first sentence begins %q and goes on with what it does", subject)
		}
		if !strings.HasPrefix(uses, "Used by ") {
			say("the second sentence begins \"Used by\"")
			continue
		}
		by, known := importers[strings.Contains(uses, "tests")][folder], 0
		for _, word := range words.FindAllString(uses, -1) {
			switch is := slices.Collect(maps.Keys(all)); {
			case some(by, word):
				known++
			case below(folder, word) || !some(is, word): // its own room, or no package
			case p.name != "main":
				say("%s does not import it", word)
			}
		}
		if known == 0 && len(importers[true][folder]) > 0 && p.name != "main" {
			say("the second sentence names none of the packages that import it")
		}
	}
	return wrong, nil
}

// Each package says in two sentences what it does and who uses it.
func TestPackagesSayWhoUsesThem(t *testing.T) {
	wrong, err := misdocumented(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestPlantedPackageDocs(t *testing.T) {
	file := func(doc string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(doc)} }
	for name, doc := range map[string]string{
		"":                    "// Package a adds. Used by b for sums.\n",
		"longer":              "// Package a adds. Used by b.\n//\n// Sums may be large. They are not.\n",
		"comments":            "",
		"1 sentences":         "// Package a adds.\n",
		"3 sentences":         "// Package a adds. Used by b. It is fast.\n",
		"goes on":             "// Package a is a sum. Used by b.\n",
		"begins \"Used by":    "// Package a adds. Whoever adds uses it: b.\n",
		"c does not import":   "// Package a adds. Used by b and c.\n",
		"names none":          "// Package a adds. Used by everybody.\n",
		"a sentence of 44":    "// Package a adds. Used by b " + strings.Repeat("and more ", 20) + ".\n",
		"d/e does not import": "// Package a adds. Used by b and d/e.\n",
	} {
		used := file("// Package b subtracts. Used by nobody.\npackage b\n\nimport _ \"" + architecture.Module + "a\"\n")
		wrong, err := misdocumented(fstest.MapFS{
			"a/a.go": file(doc + "package a\n"), "b/b.go": used,
			"c/c.go":   file("// Package c counts. Used by nobody.\npackage c\n"),
			"d/e/e.go": file("// Package e ends. Used by nobody.\npackage e\n"),
		})
		good := name == "" || name == "longer"
		if err != nil || good != (len(wrong) == 0) || !good && !strings.Contains(strings.Join(wrong, "\n"), name) {
			t.Errorf("%q: %q, %v", name, wrong, err)
		}
	}
}
