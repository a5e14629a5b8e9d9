package confetti_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
)

// line is a part of a bar: how many, and for what.
type line struct {
	many int
	why  string
}

// The size of what must be read, as bars: each is the sum of its lines, and may only fall. The first line is what was
// asked when the tree was cut into rooms, today's number where that is less, or the number at a commit. A change that
// needs more adds a line that says for what, less what it replaces; one that makes something smaller lowers a line.
var bars = map[string][]line{
	"root folders":    {{15, "asked: 15"}},
	"public packages": {{22, "asked: 22"}, {1, "client/metrics has an app count by itself"}},
	"exported names":  {{494, "asked: 500"}},

	"lines of the product": {
		{121499, "at 6636e48b, when the lab had left; asked: 103,000"},
		{7750, "apps that count by themselves, days, trends and bands"},
		{6350, "strings, tables and experiments as kinds, with their codes"},
		{5350, "storage in the place of SQL and a queue, over 448,000 lines of others"},
		{4700, "what a release says and draws of models, groups, tables and who is protected"},
		{1200, "sums in shards"},
		{750, "pages of the console"},
		{430, "the log's own tree"},
		{390, "metrics without a library"},
		{1280, "other parts of services"},
		{4000, "releases of a table, and what private records and columns teach"},
		{1900, "devices, also in pages, C, Kotlin, Swift and Python"},
		{1750, "seals, curves and relays"},
		{1650, "commands"},
		{1150, "the accountant"},
		{800, "simulations and the studio"},
		{50, "ports that no two trials share"},
		{10, "a module for browsers that a process makes and packs once"},
		{23, "what rounding leaves of these"},
	},

	"lines a device compiles": {{23766, "asked: 24,800"}},
	"lines of a histogram app": {
		{33000, "asked: 33,000"}, {980, "a counter of days"}, {950, "seals and curves of our own"}, {560, "relays"},
		{450, "a curator's columns"}, {92, "a plan's words for kinds that came"},
	},
	"lines a verifier of every kind compiles": {
		{42000, "asked: 42,000"}, {5700, "strings, tables and experiments"}, {1250, "labels, vectors and gradients"},
		{980, "a counter of days"}, {450, "a curator's columns"}, {300, "the verifier itself"},
		{770, "a plan's words for kinds that came, a release's sheets and numerals"},
	},
	"lines of a histogram's verifier": {{28786, "asked by nobody: what is left where one kind is linked"}},
	"lines a mixing party compiles": {
		{22862, "at 6636e48b, when the lab had left"},
		{2724, "a journal of our own, with rows, in the place of a queue over 179,000 lines of others"},
		{1406, "seals, curves and relays"}, {451, "a plan's words for kinds that came"},
		{597, "metrics without a library, what a hop admits, hands over and asks its neighbours"},
	},
	"lines an aggregator compiles": {
		{20498, "at 6636e48b, when the lab had left"},
		{2586, "shelves and rows in the place of SQL over 448,000 lines of others"},
		{1227, "sums in shards"}, {1024, "a place for blobs, as a hop has"}, {1406, "seals, curves and relays"},
		{451, "a plan's words for kinds that came"}, {714, "metrics without a library, and how a service is run"},
		{735, "how shares are handed over"},
	},

	"lines of storage engines": {{5821, "at 75d37fca, when they were one; asked: 3,900 with rows"}},
	"lines of storage rows":    {{4775, "at 75d37fca, when engines were one"}, {178, "a place for blobs of an aggregator"}},

	"comments that say what a function is": {{349, "asked: 1 in 10 of those of public rooms, 1 in 4 elsewhere"}},
	"long sentences in a thousand":         {{11, "asked: 50"}},
}

// held says where a number is above the sum of a bar's lines, where it is below by more than one and a thousandth, and
// which line gives no number or no reason.
func held(bar []line, now int) error {
	most := 0
	for _, l := range bar {
		if l.many <= 0 || len(strings.Fields(l.why)) == 0 {
			return fmt.Errorf("the line {%d, %q} lacks how many or for what", l.many, l.why)
		}
		most += l.many
	}
	switch {
	case now > most:
		return fmt.Errorf("%d, and at most %d: make it smaller, or add a line that says for what", now, most)
	case now < most-1-most/1000:
		return fmt.Errorf("%d, and its bar is %d: lower a line", now, most)
	}
	return nil
}

// helpers are packages for tests alone, and what keeps the house: they are no product.
func helper(pkg string) bool {
	return strings.HasPrefix(pkg, "internal/testkit") || strings.HasPrefix(pkg, "internal/tools") || strings.HasSuffix(pkg, "test")
}

// storage are the packages that keep rows, and those that say what rows mean.
var storage = map[string]string{
	"internal/storage/hashchain": "engines", "internal/storage/keep": "engines", "internal/storage/keep/journal": "engines", "internal/storage/keep/postgres": "engines",
	"internal/service/shelves": "rows", "internal/service/shufflerd/rows": "rows", "internal/service/aggregated/rows": "rows", "internal/service/analyzerd/rows": "rows",
}

// measured returns today's number for each bar.
func measured(tree fs.FS) (map[string]int, error) {
	found, err := architecture.Read(tree)
	if err != nil {
		return nil, err
	}
	sizes, err := architecture.Measure(tree)
	if err != nil {
		return nil, err
	}
	n := map[string]int{}
	for pkg, s := range sizes {
		if found.Public(pkg) {
			n["public packages"]++
			n["exported names"] += s.Names
		}
		if !helper(pkg) {
			n["lines of the product"] += s.Lines
		}
		if kind := storage[pkg]; kind != "" {
			n["lines of storage "+kind] += s.Lines
		}
	}
	closure := func(roots ...string) (lines int) {
		all := map[string]bool{}
		for _, r := range roots {
			all[r] = true
			maps.Copy(all, found.Reach(r))
		}
		for pkg := range all {
			lines += sizes[pkg].Lines
		}
		return lines
	}
	n["lines a device compiles"] = closure("client")
	n["lines of a histogram app"] = closure("client", "client/native", "question/histogram")
	n["lines a verifier of every kind compiles"] = closure("release/verify", "question/all")
	n["lines of a histogram's verifier"] = closure("release/verify", "question/histogram")
	n["lines a mixing party compiles"] = closure("cmd/confetti-shuffler")
	n["lines an aggregator compiles"] = closure("cmd/confetti-aggregator")
	entries, err := fs.ReadDir(tree, ".")
	for _, e := range entries {
		if e.IsDir() && slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(p string) bool { return below(p, e.Name()) }) {
			n["root folders"]++
		}
	}
	n["root folders"] += aside(tree)
	n["comments that say what a function is"] = stating(tree)
	if err == nil {
		n["long sentences in a thousand"], err = long(tree)
	}
	return n, err
}

// aside counts the folders of the root that have no package of this module: pages, how to run things, the lab.
func aside(tree fs.FS) (n int) {
	for _, name := range []string{"docs", "deploy", "lab"} {
		if _, err := fs.Stat(tree, name); err == nil {
			n++
		}
	}
	return n
}

// states matches "f is", "F.g has", and the like: a noun with a name, and no verb of doing.
var states = regexp.MustCompile(`^\w+(\.\w+)? (is|are|was|were|has|have)\b`)

// stating counts function comments that say what a function is, where they should say what it does.
func stating(tree fs.FS) (n int) {
	fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || strings.Contains(name, "third_party/") {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil && states.MatchString(fn.Doc.Text()) {
				n++
			}
		}
		return nil
	})
	return n
}

// ends is where a sentence of a page ends: its mark, a cell of a table, an item, a blank line.
var ends = regexp.MustCompile(`[.!?](?:\s|$)|\||\n\s*\n|\n\s*(?:[-*]|\d+\.) `)

// long returns how many of a thousand sentences of README, DESIGN and docs have over 35 words.
// Blocks of code and rows of tables are no sentences.
func long(tree fs.FS) (int, error) {
	pages, err := fs.Glob(tree, "docs/*.md")
	if err != nil {
		return 0, err
	}
	tutorials, err := fs.Glob(tree, "docs/tutorials/*.md")
	if err != nil {
		return 0, err
	}
	pages = append(pages, tutorials...)
	all, over := 0, 0
	for _, name := range append(pages, "README.md", "DESIGN.md", "CONTRIBUTING.md") {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			continue // a planted tree has few
		}
		block := false
		var prose strings.Builder
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "```") {
				block = !block
			} else if !block && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "#") {
				prose.WriteString(line)
			}
		}
		for _, sentence := range ends.Split(prose.String(), -1) {
			switch words := len(strings.Fields(sentence)); {
			case words > 35:
				over++
				fallthrough
			case words > 2:
				all++
			}
		}
	}
	return 1000 * over / max(all, 1), nil
}

func TestTheHouseGrowsNoLarger(t *testing.T) {
	now, err := measured(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(bars)) {
		if err := held(bars[name], now[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d", name, now[name])
	}
}

// A bar holds what its lines say, and no line is without a number or words.
func TestABarIsTheSumOfItsLines(t *testing.T) {
	sum := []line{{900, "asked: 900"}, {100, "a kind"}}
	for _, c := range []struct {
		bar []line
		now int
		is  bool
	}{
		{sum, 1000, true}, {sum, 998, true}, {sum, 1001, false}, {sum, 997, false}, {nil, 1, false},
		{append(sum, line{1, "one more"}), 1001, true}, {append(sum, line{1, " "}), 1001, false}, {append(sum, line{0, "none"}), 1000, false},
	} {
		if err := held(c.bar, c.now); (err == nil) != c.is {
			t.Errorf("%d of %v: %v", c.now, c.bar, err)
		}
	}
}

// Each measure moves when what it measures is planted.
func TestTheHouseIsMeasured(t *testing.T) {
	tree := fstest.MapFS{
		"plan/plan.go":            {Data: []byte("package plan\n\n// A is one.\nfunc A() {}\n\n// B returns two.\nfunc B() {}\n\nfunc c() {}\n")},
		"plan/plan_test.go":       {Data: []byte("package plan\n\nfunc Test() {}\n")},
		"client/client.go":        {Data: []byte("package client\n\nimport _ \"" + architecture.Module + "plan\"\n")},
		"internal/testkit/a/a.go": {Data: []byte("package a\n")},

		"internal/storage/keep/keep.go":      {Data: []byte("package keep\n")},
		"internal/service/shelves/lease.go":  {Data: []byte("package shelves\n\nconst a = 1\n")},
		"internal/storage/keep/keep_test.go": {Data: []byte("package keep\n\nconst b = 1\n")},
	}
	tree["README.md"] = &fstest.MapFile{Data: []byte("# Title\n\nShort it is. " + strings.Repeat("word ", 36) + "end.\n")}
	now, err := measured(tree)
	want := map[string]int{"long sentences in a thousand": 500, "root folders": 3, "public packages": 2, "exported names": 2, "lines of storage engines": 1, "lines of storage rows": 3, "lines of the product": 16, "lines a device compiles": 12, "comments that say what a function is": 1}
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range want {
		if now[name] != n {
			t.Errorf("%s: %d, want %d", name, now[name], n)
		}
	}
}

// What a package says and what it stands on are bounded, and not its length: 40 exported names,
// and imports of 15 packages of ours. Those above may not grow.
const mostNames, mostImports = 40, 15

// wider are the packages above those bounds, with their own.
var wider = map[string]struct{ names, imports int }{
	// The contract, what crosses the network, and vocabularies.
	"plan": {names: 150}, "account": {names: 69}, "release": {names: 46}, "client": {names: 55, imports: 18}, // Operators, by whom an instance is chosen
	"internal/wire": {names: 117}, "internal/wire/relay": {names: 59}, "internal/dap": {names: 64},

	// What puts rooms together: a service, a kind, a collection in memory, what is drawn of every kind.
	"internal/service/aggregated": {imports: 21}, "internal/service/analyzerd": {imports: 31}, "internal/service/shufflerd": {imports: 21}, "internal/service/console": {imports: 26},
	"question/histogram": {imports: 19}, "internal/question/latent": {imports: 16}, "simulate": {imports: 21}, "internal/simulate/collection": {imports: 31}, "internal/simulate/distribution": {imports: 23},
	// One more each by what left a device's closure: intervals of a count, distributions of a number, words that were meant,
	// densities without privacy.
	"internal/simulate/measure": {imports: 17},
	// And what left a verifier: files of keys, handovers, tokens, the split of vectors and plain text are packages of their own,
	// which adds one or two to each of those that use them; so is how many people an experiment takes.
	"internal/service/serve": {names: 92, imports: 18},
	"internal/curator":       {imports: 16}, // what is asked of a table, counted, charged and written up
	"internal/audit":         {imports: 27}, "internal/studio": {imports: 23}, "internal/release/results": {names: 44, imports: 33}, "internal/audit/kinds": {imports: 19}, "protocol/design": {imports: 18},
	// Commands.
	"cmd/confetti": {imports: 21}, "cmd/confetti/internal/release": {imports: 24}, "cmd/confetti/internal/account": {imports: 18}, "cmd/confetti/internal/collect": {imports: 25},
	"cmd/confetti/internal/device": {imports: 17}, "cmd/confetti/internal/metrics": {imports: 16}, "cmd/internal/server/roles": {imports: 20},
	"cmd/internal/server/up": {imports: 21}, "question/vector": {imports: 16}, "cmd/confetti/internal/plan": {imports: 18}, "cmd/internal/services": {imports: 16},
}

func TestNoPackageSaysTooMuch(t *testing.T) {
	tree := os.DirFS(".")
	found, err := architecture.Read(tree)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := architecture.Measure(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		ours := map[string]bool{}
		for _, to := range found[pkg] {
			if _, is := found[to]; is {
				ours[to] = true
			}
		}
		w := wider[pkg]
		if names := sizes[pkg].Names; names > max(mostNames, w.names) {
			t.Errorf("%s exports %d names, and at most %d: which of them has no other user?", pkg, names, max(mostNames, w.names))
		}
		if len(ours) > max(mostImports, w.imports) {
			t.Errorf("%s imports %d packages of ours, and at most %d: what does it do for others?", pkg, len(ours), max(mostImports, w.imports))
		}
	}
	for pkg := range wider {
		if _, is := found[path.Clean(pkg)]; !is {
			t.Errorf("%s is not there", pkg)
		}
	}
}

// DESIGN.md lists what the two believed programs are made of.
func TestDesignListsWhatIsBelieved(t *testing.T) {
	found, err := architecture.Read(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"cmd/confetti-shuffler", "cmd/confetti-aggregator"} {
		line := "- `" + program + "`: " + strings.Join(slices.Sorted(maps.Keys(found.Reach(program))), ", ") + "\n"
		if !strings.Contains(string(text), line) {
			t.Errorf("DESIGN.md lacks this line:\n%s", line)
		}
	}
}

// folders are names in the first column of a table of folders.
var folders = regexp.MustCompile("`([a-z0-9_]+)`")

// unmapped returns which folders of a room its README does not name, and which it names that are not there.
func unmapped(tree fs.FS, room string) (wrong []string, err error) {
	text, err := fs.ReadFile(tree, path.Join(room, "README.md"))
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if first, isRow := strings.CutPrefix(line, "| `"); isRow {
			first, _, _ = strings.Cut("`"+first, "|")
			for _, m := range folders.FindAllStringSubmatch(first, -1) {
				named[m[1]] = true
			}
		}
	}
	entries, err := fs.ReadDir(tree, room)
	for _, e := range entries {
		if e.IsDir() && !named[e.Name()] {
			wrong = append(wrong, e.Name()+" is not named")
		}
		delete(named, e.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		wrong = append(wrong, name+" is not there")
	}
	return wrong, err
}

// Who lists a room that is no package finds there what each of its folders does.
func TestRoomsWithoutAPackageAreMapped(t *testing.T) {
	for _, room := range []string{"internal", "lab"} {
		if wrong, err := unmapped(os.DirFS("."), room); err != nil || len(wrong) > 0 {
			t.Errorf("%s: %q, %v", room, wrong, err)
		}
	}
	planted := fstest.MapFS{"a/README.md": {Data: []byte("| `b`, `c` | of `d` |\n")}, "a/b/b.go": {}, "a/d/d.go": {}}
	if wrong, err := unmapped(planted, "a"); err != nil || !slices.Equal(wrong, []string{"d is not named", "c is not there"}) {
		t.Errorf("%q, %v", wrong, err)
	}
}
