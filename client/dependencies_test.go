package client_test

import (
	"flag"
	"go/build"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The packages of others that a program with a client in it carries, the
// standard library left out. Whoever ships one to other people's devices answers
// for each of them, so that a new line here is a decision and never an accident.
// Everything is read in this process: the go command would be asked for more, and
// its answer would come from a cache.
func TestDependencies(t *testing.T) {
	const ours = "github.com/confetti-dp/confetti"
	modules := requirements(t)
	modules[ours] = ".."
	system := build.Default
	system.GOOS, system.GOARCH, system.CgoEnabled = "linux", "amd64", false // one list on every machine
	carried := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if first, _, _ := strings.Cut(path, "/"); carried[path] || !strings.Contains(first, ".") {
			return // seen, or of the standard library
		}
		carried[path] = true
		p, err := system.ImportDir(folderOf(modules, path), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range p.Imports {
			if slices.Contains([]string{"net/http", "crypto/tls", "net"}, i) {
				t.Errorf("%s imports %s: a device in a browser has no sockets, and would carry six megabytes for nothing", path, i)
			}
			visit(i)
		}
	}
	visit(ours + "/client")
	maps.DeleteFunc(carried, func(path string, _ bool) bool {
		return strings.HasPrefix(path, ours+"/") && !strings.HasPrefix(path, ours+"/internal/third_party/")
	})

	got := strings.Join(slices.Sorted(maps.Keys(carried)), "\n") + "\n"
	const golden = "testdata/dependencies.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("a client carries other packages than %s says (go test -update rewrites it):\n%s", golden, d)
	}
	// The golden file may grow by what these need, not by another of their kind.
	legal := regexp.MustCompile(`^(filippo\.io/edwards25519/field|gonum\.org/v1/gonum|github\.com/(confetti-dp/confetti/internal/third_party/circl|transparency-dev/formats)|golang\.org/x/(crypto|sys|mod/sumdb))/?`)
	for path := range carried {
		if !legal.MatchString(path) {
			t.Errorf("a client carries %s", path)
		}
	}
}

// requirements maps each module of go.mod to its folder in the module cache.
func requirements(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("GOMODCACHE")
	if cache == "" {
		cache = filepath.Join(build.Default.GOPATH, "pkg", "mod")
	}
	modules := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
		// The cache writes capitals as an exclamation mark and the small letter.
		name := regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(m[1], func(c string) string { return "!" + strings.ToLower(c) })
		modules[m[1]] = filepath.Join(cache, filepath.FromSlash(name)+"@"+m[2])
	}
	return modules
}

// folderOf is where a package's files are: in the module of the longest name.
func folderOf(modules map[string]string, path string) string {
	for name := path; name != "."; name = filepath.ToSlash(filepath.Dir(name)) {
		if dir, ok := modules[name]; ok {
			return filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(path, name)))
		}
	}
	return filepath.FromSlash(path)
}
