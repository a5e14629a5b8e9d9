package confetti_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
	"github.com/confetti-dp/confetti/plan"
)

// The architecture, as a table. Do not change it to mend a build: a package may
// import only packages of earlier lines, and the trust boundary between who
// mixes and who reads is the import boundary. A better layout changes this
// table and DESIGN.md in one commit.
//
// A name stands for itself and the packages below it, unless they have a name of
// their own. Packages of one line do not import each other, except that a package
// may import those below itself.
var layers = [][]string{
	{"internal/rng", "internal/prob", "internal/storage/atomicfile", "internal/clock", "internal/testkit/costlimit", "internal/testkit/crosscheck", "internal/sanitize", "internal/tools/sbom", "internal/tools/doctest", "internal/tools/architecture", "internal/kernel", "internal/prio3", "internal/floats", "internal/testkit/datatest", "internal/testkit/relaytest", "internal/strictjson", "internal/once", "internal/formula", "internal/loopback", "internal/x25519", "internal/envelope/sizes", "internal/dp/encode/hadamard", "internal/account/recent"},
	{"internal/storage/atomicfile/atomicfiletest", "internal/seeded", "internal/service/session", "internal/table", "internal/keyfile", "internal/storage/hashchain", "internal/tools/architecture/draw", "internal/tools/architecture/linked", "internal/tools/measure", "internal/nn", "internal/service/serve/metrics"},
	{"internal/testkit/stattest", "internal/testkit/scripts", "internal/prob/confidence", "internal/dataset", "internal/table/columnar", "internal/table/stream"},
	{"plan", "envelope"},
	{"internal/plan/author"},
	{"internal/token", "internal/dap", "internal/ohttp"},
	{"internal/wire"},
	{"internal/wire/relay", "internal/wire/web", "internal/wire/tokenwire", "internal/webmodule"},
	{"internal/keyfile/partykey", "internal/wire/handover"},
	{"internal/storage/keep", "internal/service/serve", "internal/storage/blob", "web"},
	{"internal/storage/blob/bucket", "internal/storage/keep/keeptest"},
	{"internal/storage/keep/journal", "internal/storage/keep/postgres", "internal/service/serve/servetest", "internal/service/registry", "internal/service/transfer", "internal/storage/blob/blobtest"},
	{"internal/service/witness", "internal/service/shelves"},
	{"internal/account/pld", "internal/account/profile", "internal/account/rdp"},
	{"account", "internal/dp/noise", "internal/dp/tally", "internal/dp/encode"},
	{"internal/service/analyzerd/progress"},
	{"internal/account/calibrate"},
	{"internal/account/theorems", "internal/account/accounttest", "internal/dp/encode/whiten/principal", "internal/dp/encode/cluster", "internal/dp/encode/kernelmap", "internal/dp/encode/hashedwords"},
	{"internal/account/shuffle", "internal/account/additive", "internal/account/central", "internal/dp/encode/inputs"},
	{"internal/account/amplify", "internal/account/bitnoise", "internal/account/shuffle/vectors"},
	{"internal/dp/estimate", "internal/dp/sum", "internal/dp/treecode", "internal/dp/crosscode"},
	{"internal/dp/estimate/number", "internal/dp/treecode/decode", "internal/dp/crosscode/tables"},
	{"internal/dp/randomize", "internal/dp/resample", "internal/dp/bitsum", "internal/dp/sum/sumprivacy", "internal/dp/direction", "internal/dap/task"},
	{"internal/dp/kde", "internal/dp/sketch", "internal/dp/fragment", "internal/dp/vector", "internal/dp/latent", "internal/dp/routes"},
	{"internal/dp/lift"},
	{"internal/dp/lift/power"},
	{"internal/learn/hdc", "internal/learn/moments", "internal/learn/training"},
	{"internal/learn/model"},
	{"internal/learn/latent", "internal/learn/fitted"},
	{"internal/belief", "internal/release/glossary", "internal/release/pagemarks", "internal/release/numerals", "internal/release/sheets"},
	{"release"},
	{"internal/audit/report"},
	{"internal/question"},
	{"internal/question/registry", "internal/question/terms", "internal/question/rows", "internal/question/densities"}, // what kinds share
	{"question/density", "question/histogram", "question/vector", "internal/question/gradient", "question/strings", "question/table", "question/experiment"},
	{"internal/question/label", "internal/question/latent"},
	{"question/learning"},
	{"internal/release/page", "internal/release/textpage", "internal/release/results"},
	{"protocol", "question/all", "internal/release/trend"},
	{"protocol/design", "internal/release/statement"},
	{"internal/shuffler/admission", "internal/simulate/distribution"},
	{"internal/testkit/example"},
	{"client", "party/shuffler", "party/analyzer", "internal/service/issuer", "party/aggregator", "internal/service/planlog"},
	{"internal/analyzer/parts", "internal/service/analyzerd/rows", "internal/service/shufflerd/rows"},
	{"internal/service/inbox", "internal/service/bands", "internal/curator"},
	{"internal/shuffler/mixer", "internal/analyzer/shards"},
	{"internal/service/shufflerd", "internal/service/aggregated", "internal/service/analyzerd", "internal/client/words", "internal/client/policy", "client/native", "client/metrics"},
	{"simulate", "internal/testkit/chaos", "internal/testkit/releasetest", "internal/testkit/foreign", "internal/studio", "internal/client/page", "internal/client/embed"},
	{"internal/simulate/measure", "internal/audit"},
	{"release/verify", "internal/service/webstudio", "internal/testkit/webtest"},
	{"internal/service/console", "internal/tools/publish"},
	{"internal/simulate/collection", "internal/simulate/course"},
	{"cmd/internal/daemon"},
	{"internal/cli/terminal", "cmd/internal/shuffler", "cmd/internal/aggregator", "cmd/confetti-web", "cmd/libconfetti"},
	{"cmd/confetti-shuffler", "cmd/confetti-shuffler-postgres", "cmd/confetti-aggregator", "cmd/confetti-aggregator-postgres"},
	{"internal/cli/flags", "internal/testkit/badfile", "cmd/internal/commands", "cmd/confetti/internal/beside", "cmd/internal/plans", "cmd/internal/rounds", "cmd/internal/card"},
	{"cmd/internal/trial", "cmd/confetti/internal/plan/describe", "cmd/confetti/internal/releases", "cmd/confetti/internal/fetched"},
	{"cmd/internal/services", "cmd/confetti/internal/plan/draft", "cmd/confetti/internal/study/counts", "cmd/confetti/internal/study/trends"},
	{"cmd/confetti/internal", "cmd/internal/server/roles", "cmd/internal/server/count", "cmd/internal/server/operate", "cmd/internal/server/parquet", "cmd/internal/server/planlog", "cmd/internal/server/token"}, // a package for each group of commands
	{"cmd/confetti/internal/collect", "cmd/internal/server/up", "cmd/internal/server/party"},
	{"cmd/internal/server"},
	{"cmd/confetti", "cmd/confetti-server"},
}

// A reach is something a package must not get to, not even through others.
type reach struct {
	from    string
	to      []string // forbidden
	allowed []string // if not nil: everything of ours but these is forbidden
	because string
}

// mixing is all that a shuffler may be made of.
var mixing = []string{"plan", "envelope", "internal/envelope/sizes", "internal/x25519", "internal/dp/noise", "internal/rng", "internal/prob", "internal/storage/atomicfile", "internal/clock", "internal/keyfile", "internal/sanitize", "internal/storage/hashchain", "internal/token", "internal/ohttp", "internal/wire", "internal/storage/keep", "internal/service/shelves", "internal/service/session", "internal/service/serve", "internal/service/serve/metrics", "internal/service/registry", "internal/service/transfer", "internal/shuffler/admission", "internal/service/inbox", "internal/service/witness", "internal/storage/blob", "internal/storage/blob/bucket", "internal/strictjson"}

// adding is all that an aggregator may be made of.
var adding = []string{"plan", "envelope", "internal/envelope/sizes", "internal/x25519", "internal/dp/noise", "internal/dp/sum", "internal/rng", "internal/prob", "internal/storage/atomicfile", "internal/clock", "internal/keyfile", "internal/sanitize", "internal/storage/hashchain", "internal/token", "internal/ohttp", "internal/wire", "internal/service/session", "internal/service/serve", "internal/service/serve/metrics", "internal/service/registry", "internal/service/shelves", "internal/storage/keep", "internal/storage/blob", "internal/storage/blob/bucket", "internal/service/transfer", "internal/prio3", "internal/dap", "internal/strictjson"}

var reaches = []reach{
	{from: "party/shuffler", allowed: mixing, because: "a shuffler must not be able to read what it mixes"},
	{from: "internal/shuffler", allowed: append([]string{"party/shuffler"}, mixing...), because: "a shuffler must not be able to read what it mixes"},
	{from: "internal/service/shufflerd", allowed: append([]string{"party/shuffler", "internal/shuffler"}, mixing...), because: "a shuffler must not be able to read what it mixes"},
	{from: "cmd/confetti-shuffler", allowed: append([]string{"party/shuffler", "internal/shuffler", "internal/service/shufflerd", "cmd/internal/shuffler", "cmd/internal/daemon", "internal/once"}, mixing...), because: "a shuffler must not be able to read what it mixes"},
	{from: "cmd/confetti-shuffler-postgres", allowed: append([]string{"party/shuffler", "internal/shuffler", "internal/service/shufflerd", "cmd/internal/shuffler", "cmd/internal/daemon", "internal/once"}, mixing...), because: "a shuffler must not be able to read what it mixes"},
	{from: "party/aggregator", allowed: adding, because: "an aggregator must not be able to read what it adds"},
	{from: "internal/service/aggregated", allowed: append([]string{"party/aggregator"}, adding...), because: "an aggregator must not be able to read what it adds"},
	{from: "cmd/confetti-aggregator", allowed: append([]string{"party/aggregator", "internal/service/aggregated", "cmd/internal/aggregator", "cmd/internal/daemon", "internal/once"}, adding...), because: "an aggregator must not be able to read what it adds"},
	{from: "cmd/confetti-aggregator-postgres", allowed: append([]string{"party/aggregator", "internal/service/aggregated", "cmd/internal/aggregator", "cmd/internal/daemon", "internal/once"}, adding...), because: "an aggregator must not be able to read what it adds"},
	{from: "cmd/confetti-shuffler", to: []string{"internal/storage/keep/postgres"}, because: "the plain program has no database"},
	{from: "cmd/confetti-aggregator", to: []string{"internal/storage/keep/postgres"}, because: "the plain program has no database"},
	{from: "client", to: []string{"party/analyzer", "internal/analyzer", "internal/service", "protocol/design"}, because: "a device carries no code that opens reports"},
	{from: "client", to: []string{"internal/storage/keep", "internal/service/serve", "internal/release/page"}, because: "a device carries no service"},
	{from: "client", to: []string{"internal/wire/relay"}, because: "what services tell each other is not for a device"},
	{from: "party/analyzer", to: []string{"party/shuffler"}, because: "the roles meet only on the wire"},
	{from: "client", to: []string{"internal/learn", "internal/release/results"}, because: "a device learns nothing, and describes nothing"},
	{from: "client", to: []string{"internal/simulate/distribution", "simulate"}, because: "what a population would give is for simulations"},
	{from: "internal/service/analyzerd", to: []string{"internal/simulate/distribution", "simulate", "party/shuffler", "internal/seeded"}, because: "the roles meet only on the wire"},
	{from: "party/analyzer", to: []string{"internal/simulate/distribution", "simulate"}, because: "what a population would give is for simulations"},
	{from: "client", to: []string{"internal/dataset", "internal/table"}, because: "a device holds one value and reads no table"},
	{from: "client", to: []string{"internal/seeded"}, because: "seeded randomness is for tests and simulations"},
	{from: "party/shuffler", to: []string{"internal/seeded"}, because: "seeded randomness is for tests and simulations"},
	{from: "party/analyzer", to: []string{"internal/seeded"}, because: "seeded randomness is for tests and simulations"},
	{from: "account", to: []string{"internal/dp/randomize", "internal/dp/bitsum", "internal/dp/noise"}, because: "accounting consumes descriptions, not mechanisms"},
	{from: "plan", allowed: []string{}, because: "a plan is data"},
	{from: "cmd/confetti", to: []string{"cmd/internal/server", "internal/storage/keep", "internal/service/shufflerd", "internal/service/aggregated", "internal/service/issuer", "internal/service/planlog", "internal/service/console"}, because: "what people run is no service"},
	{from: "client", to: []string{"internal/plan/author"}, because: "a device follows plans and reads one form of them"},
}

// foreign are imports of others that only the named packages of ours may have.
var foreign = []struct {
	pkg     string
	only    []string // nil: nobody
	because string
}{
	{"math/rand", nil, "its generator is neither secure nor unbiased; use math/rand/v2 with a source that is an argument"},
	{"crypto/rand", []string{"internal/rng", "cmd/confetti/internal/plan", "internal/x25519"}, "adversary-visible randomness comes from internal/rng only"},
	{"gonum.org/v1/plot", nil, "it links twelve fonts and writers of PDF: internal/release/page draws what is published"},
	{"golang.org/x/image", []string{"internal/release/page"}, "only what is published is drawn, and not by a device"},
	{"codeberg.org/go-fonts", []string{"internal/release/page"}, "only what is published is drawn, and not by a device"},
	{"github.com/alecthomas/kong", []string{"cmd/confetti", "cmd/internal/shuffler", "cmd/internal/aggregator", "cmd/internal/daemon", "cmd/internal/commands", "internal/cli", "internal/once", "internal/testkit/badfile"}, "flags belong to the command"},
	{"github.com/parquet-go/parquet-go", []string{"internal/table/columnar"}, "Parquet stands behind internal/table/columnar, which people's program has the other one link"},
	{"github.com/pelletier/go-toml", []string{"internal/plan/author", "internal/service/serve"}, "what a device reads is JSON"},
	{"github.com/nats-io", nil, "shelves stand behind internal/storage/keep"},
	{"github.com/jackc/pgx", []string{"internal/storage/keep/postgres"}, "a database stands behind internal/storage/keep"},
}

// below reports whether pkg is name or lies below it.
func below(pkg, name string) bool { return pkg == name || strings.HasPrefix(pkg, name+"/") }

func belowAny(pkg string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return below(pkg, n) })
}

// level finds the line of the table that pkg stands on, and its entry there: the
// nearest name that it lies below.
func level(pkg string) (at int, entry string) {
	at = -1
	for i, line := range layers {
		for _, name := range line {
			if below(pkg, name) && len(name) > len(entry) {
				at, entry = i, name
			}
		}
	}
	return at, entry
}

// violations checks a tree against the table and the reaches.
func violations(found architecture.Imports) []string {
	var bad []string
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		if pkg == "." {
			continue
		}
		at, name := level(pkg)
		if at < 0 {
			bad = append(bad, fmt.Sprintf("%s is not in the table of layers", pkg))
			continue
		}
		for _, to := range found[pkg] {
			if _, ours := found[to]; ours {
				if l, entry := level(to); l > at || l == at && !(entry == name && below(to, pkg)) {
					bad = append(bad, fmt.Sprintf("%s imports %s, which is not on an earlier line", pkg, to))
				}
			}
			for _, f := range foreign {
				if below(to, f.pkg) && !(f.pkg == "math/rand" && to != "math/rand") && !belowAny(pkg, f.only) {
					bad = append(bad, fmt.Sprintf("%s imports %s: %s", pkg, to, f.because))
				}
			}
		}
		for _, r := range reaches {
			if !below(pkg, r.from) {
				continue
			}
			for _, to := range slices.Sorted(maps.Keys(found.Reach(pkg))) {
				if belowAny(to, r.to) || r.allowed != nil && !below(to, r.from) && !belowAny(to, r.allowed) {
					bad = append(bad, fmt.Sprintf("%s reaches %s: %s", pkg, to, r.because))
				}
			}
		}
	}
	return bad
}

func TestImportsFollowTheArchitecture(t *testing.T) {
	found, err := architecture.Read(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 10 {
		t.Fatalf("found %d packages: the test looks in the wrong place", len(found))
	}
	for _, v := range violations(found) {
		t.Error(v)
	}
	known := layers
	for _, r := range reaches {
		known = append(known, []string{r.from}, r.to, r.allowed)
	}
	for _, line := range known {
		for _, name := range line {
			if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
				t.Errorf("the table names %s, which is not there", name)
			}
		}
	}
}

// naming are the packages that may name a kind of question; all others ask package
// question. Simulations name those that they draw, an audit those that it attacks.
var naming = []string{"question", "internal/question", "protocol", "internal/release/results", "internal/simulate", "internal/audit", "internal/testkit/example", "internal/curator"}

// authoring are the packages that may write the section of a kind, beside those: plans are
// made by the commands that ask for them, and a device compares the question of a season with what its registry lists.
var authoring = []string{"plan", "client/metrics", "internal/studio", "cmd/confetti/internal/plan", "cmd/internal/server/up", "cmd/confetti/internal/collect", "cmd/confetti/internal/release", "internal/curator"}

// taught are the kinds that question/learning imports, and no app by name.
var taught = []string{"internal/question/gradient", "internal/question/label", "internal/question/latent"}

// named lists the packages that import a kind without being among them.
func named(found architecture.Imports) (bad []string) {
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		for _, to := range found[pkg] {
			if (below(to, "question") && to != "question/all" && to != "question/learning" || slices.Contains(taught, to)) && !belowAny(pkg, naming) {
				bad = append(bad, fmt.Sprintf("%s imports %s: a kind of question is named in protocol's table only", pkg, to))
			}
		}
	}
	return bad
}

func TestKindsOfQuestionAreNamedInOneTable(t *testing.T) {
	found, err := architecture.Read(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range named(found) {
		t.Error(bad)
	}
	if planted := (architecture.Imports{"party/analyzer": {"internal/question", "question/density"}}); len(named(planted)) != 1 {
		t.Error("an analyzer that names a kind is not caught")
	}
	used := regexp.MustCompile(`Question\.(` + strings.Join(sections(), "|") + `)\b`)
	if !used.MatchString("p.Question.Histogram.Attributes") {
		t.Fatalf("%s finds no kind", used)
	}
	for pkg := range found {
		if belowAny(pkg, naming) && pkg != "protocol" || belowAny(pkg, authoring) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if found := used.Find(text); !strings.HasSuffix(name, "_test.go") && (err != nil || found != nil) {
				t.Errorf("%s names a kind: %s%v", name, found, err)
			}
		}
	}
}

// sections are the fields of plan.Question that a kind has.
func sections() (names []string) {
	for f := range reflect.TypeFor[plan.Question]().Fields() {
		if f.Type.Kind() == reflect.Pointer {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestThePictureShowsTheRoomsAsTheyAre(t *testing.T) {
	found, err := architecture.Read(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := os.ReadFile("docs/packages.svg")
	if err != nil {
		t.Fatal(err)
	}
	if now, err := architecture.Draw(found, architecture.Programs...); err != nil || !bytes.Equal(drawn, now) {
		t.Error(err, "docs/packages.svg is of another tree: go run ./internal/tools/architecture/draw")
	}
}

// Each rule is shown a violation that it must catch.
func TestPlantedViolationsAreCaught(t *testing.T) {
	file := func(pkg string, imports ...string) *fstest.MapFile {
		src := "package " + path.Base(pkg) + "\n"
		for _, i := range imports {
			src += "import _ \"" + i + "\"\n"
		}
		return &fstest.MapFile{Data: []byte(src)}
	}
	for name, c := range map[string]struct {
		tree fstest.MapFS
		want string
	}{
		"upward import": {fstest.MapFS{
			"internal/dp/tally/a.go": file("internal/dp/tally", architecture.Module+"protocol"), "protocol/a.go": file("protocol")},
			"internal/dp/tally imports protocol, which is not on an earlier line"},
		"sideways import": {fstest.MapFS{
			"internal/dp/noise/a.go": file("internal/dp/noise", architecture.Module+"internal/dp/tally"), "internal/dp/tally/a.go": file("internal/dp/tally")},
			"internal/dp/noise imports internal/dp/tally, which is not on an earlier line"},
		"engine imports its user": {fstest.MapFS{
			"internal/account/pld/a.go": file("internal/account/pld", architecture.Module+"account"), "account/a.go": file("account")},
			"internal/account/pld imports account, which is not on an earlier line"},
		"unknown package": {fstest.MapFS{"util/a.go": file("util")}, "util is not in the table"},
		"shuffler reads reports": {fstest.MapFS{
			"party/shuffler/a.go": file("party/shuffler", architecture.Module+"internal/dp/fragment"), "internal/dp/fragment/a.go": file("internal/dp/fragment")},
			"party/shuffler reaches internal/dp/fragment"},
		"shuffler reads reports through another": {fstest.MapFS{
			"party/shuffler/a.go": file("party/shuffler", architecture.Module+"envelope"), "envelope/a.go": file("envelope", architecture.Module+"internal/dp/encode"), "internal/dp/encode/a.go": file("internal/dp/encode")},
			"party/shuffler reaches internal/dp/encode"},
		"an aggregator reads sums": {fstest.MapFS{
			"party/aggregator/a.go": file("party/aggregator", architecture.Module+"protocol"), "protocol/a.go": file("protocol")},
			"party/aggregator reaches protocol"},
		"an aggregator that runs reads sums through another": {fstest.MapFS{
			"internal/service/aggregated/a.go": file("internal/service/aggregated", architecture.Module+"internal/service/serve"), "internal/service/serve/a.go": file("internal/service/serve", architecture.Module+"party/analyzer"), "party/analyzer/a.go": file("party/analyzer")},
			"internal/service/aggregated reaches party/analyzer"},
		"client reaches the analyzer": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"protocol"), "protocol/a.go": file("protocol", architecture.Module+"party/analyzer"), "party/analyzer/a.go": file("party/analyzer")},
			"client reaches party/analyzer"},
		"a device reads receipts": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"internal/wire/relay"), "internal/wire/relay/a.go": file("internal/wire/relay")},
			"client reaches internal/wire/relay"},
		"party/analyzer reaches the shuffler": {fstest.MapFS{
			"party/analyzer/a.go": file("party/analyzer", architecture.Module+"party/shuffler"), "party/shuffler/a.go": file("party/shuffler")},
			"party/analyzer reaches party/shuffler"},
		"a device carries a classifier": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"protocol"), "protocol/a.go": file("protocol", architecture.Module+"internal/release/results"),
			"internal/release/results/a.go": file("internal/release/results", architecture.Module+"internal/learn/hdc"), "internal/learn/hdc/a.go": file("internal/learn/hdc")},
			"client reaches internal/learn/hdc"},
		"the analyzer draws a population": {fstest.MapFS{
			"party/analyzer/a.go": file("party/analyzer", architecture.Module+"internal/simulate/distribution"), "internal/simulate/distribution/a.go": file("internal/simulate/distribution")},
			"party/analyzer reaches internal/simulate/distribution"},
		"seeded randomness on a device": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"internal/seeded"), "internal/seeded/a.go": file("internal/seeded")},
			"client reaches internal/seeded"},
		"seeded randomness in a shuffler": {fstest.MapFS{
			"party/shuffler/a.go": file("party/shuffler", architecture.Module+"internal/seeded"), "internal/seeded/a.go": file("internal/seeded")},
			"party/shuffler reaches internal/seeded"},
		"seeded randomness in the analyzer": {fstest.MapFS{
			"party/analyzer/a.go": file("party/analyzer", architecture.Module+"internal/seeded"), "internal/seeded/a.go": file("internal/seeded")},
			"party/analyzer reaches internal/seeded"},
		"accountant depends on a mechanism": {fstest.MapFS{
			"account/a.go": file("account", architecture.Module+"internal/dp/noise"), "internal/dp/noise/a.go": file("internal/dp/noise", architecture.Module+"internal/dp/bitsum"), "internal/dp/bitsum/a.go": file("internal/dp/bitsum")},
			"account reaches internal/dp/bitsum"},
		"plan imports code": {fstest.MapFS{
			"plan/a.go": file("plan", architecture.Module+"internal/rng"), "internal/rng/a.go": file("internal/rng")},
			"plan reaches internal/rng"},
		"plan reads TOML": {fstest.MapFS{"plan/a.go": file("plan", "github.com/pelletier/go-toml/v2")}, "plan imports github.com/pelletier/go-toml/v2"},
		"a device authors": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"internal/plan/author"), "internal/plan/author/a.go": file("internal/plan/author")},
			"client reaches internal/plan/author"},
		"old random numbers":    {fstest.MapFS{"internal/dp/noise/a.go": file("internal/dp/noise", "math/rand")}, "internal/dp/noise imports math/rand"},
		"own secure randomness": {fstest.MapFS{"internal/dp/noise/a.go": file("internal/dp/noise", "crypto/rand")}, "internal/dp/noise imports crypto/rand"},
		"a device draws": {fstest.MapFS{
			"client/a.go": file("client", architecture.Module+"release"), "release/a.go": file("release", architecture.Module+"internal/release/page"), "internal/release/page/a.go": file("internal/release/page")},
			"release imports internal/release/page, which is not on an earlier line"},
		"plots outside a release":   {fstest.MapFS{"internal/dp/kde/a.go": file("internal/dp/kde", "gonum.org/v1/plot/plotter")}, "internal/dp/kde imports gonum.org/v1/plot/plotter"},
		"flags outside the command": {fstest.MapFS{"internal/dp/kde/a.go": file("internal/dp/kde", "github.com/alecthomas/kong")}, "internal/dp/kde imports github.com/alecthomas/kong"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := architecture.Read(c.tree)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(violations(found), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("planted violation not caught: want %q in %q", c.want, got)
			}
		})
	}
}

// globalDraws lists the uses of math/rand/v2 in a file that draw from its
// process-wide generator: everything but its types and constructors.
func globalDraws(name string, src []byte) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, 0)
	if err != nil {
		return nil, err
	}
	local := ""
	for _, i := range f.Imports {
		if i.Path.Value == `"math/rand/v2"` {
			local = "rand"
			if i.Name != nil {
				local = i.Name.Name
			}
		}
	}
	if local == "" {
		return nil, nil
	}
	var bad []string
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == local && x.Obj == nil &&
			!slices.Contains([]string{"New", "Rand", "Source", "NewPCG", "PCG", "NewChaCha8", "ChaCha8", "NewZipf", "Zipf"}, s.Sel.Name) {
			bad = append(bad, fmt.Sprintf("%s: %s.%s draws from a generator that is no argument", set.Position(s.Pos()), local, s.Sel.Name))
		}
		return true
	})
	return bad, nil
}

func TestRandomnessIsAnArgument(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		files++
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		bad, err := globalDraws(name, src)
		for _, b := range bad {
			t.Error(b)
		}
		return err
	})
	if err != nil || files < 20 {
		t.Fatalf("read %d files: %v", files, err)
	}
	planted := "package p\nimport \"math/rand/v2\"\nvar x = rand.IntN(6)\nfunc f(r *rand.Rand) int { return r.IntN(6) }\n"
	if bad, err := globalDraws("planted.go", []byte(planted)); err != nil || len(bad) != 1 {
		t.Errorf("a planted global draw gave %v (%v), want one finding", bad, err)
	}
}

// A rule without a planted violation could be dead; so could a clean tree.
func TestACleanTreePasses(t *testing.T) {
	tree := fstest.MapFS{
		"party/shuffler/a.go":       {Data: []byte("package shuffler\nimport _ \"" + architecture.Module + "envelope\"\nimport _ \"math/rand/v2\"\n")},
		"envelope/a.go":             {Data: []byte("package envelope\n")},
		"account/a.go":              {Data: []byte("package account\nimport _ \"" + architecture.Module + "internal/account/pld\"\n")},
		"internal/account/pld/a.go": {Data: []byte("package pld\n")},
	}
	found, err := architecture.Read(tree)
	if err != nil {
		t.Fatal(err)
	}
	if v := violations(found); len(v) > 0 {
		t.Errorf("a clean tree has violations: %v", v)
	}
}
