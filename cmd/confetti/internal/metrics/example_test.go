package metrics

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/cli/terminal"
	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// The example's app is built with the code of its own registry, in a module of its own, and run: it asks in words, keeps what it counts
// after a yes alone, and keeps nothing where CI is in the environment.
func TestTheExampleCountsAfterAYes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an app")
	}
	const example = "../../../../docs/examples/metrics"
	x := founded(t, 1, day(t, "2026-12-01"))
	text, err := os.ReadFile(filepath.Join(example, "confetti.toml"))
	x.must(err)
	_, declared, _ := strings.Cut(string(text), "publishers = [\"PUBLISHER\"]\n")
	x.reviewed(declared)
	x.sign(1)
	root, err := filepath.Abs("../../../..")
	x.must(err)
	app, err := filepath.Abs(t.TempDir())
	x.must(err)
	x.must(os.MkdirAll(filepath.Join(app, "counts"), 0o755))
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		x.must(err)
		x.must(os.WriteFile(filepath.Join(app, name), []byte(strings.ReplaceAll(string(text), "=> ../../..", "=> "+root)), 0o600))
	}
	c := code{asked: x.asked(), Go: x.path("app/counts.go")}
	x.must(c.Run(terminal.Streams{Out: io.Discard, Err: io.Discard}))
	for name, from := range map[string]string{"counts.go": c.Go, "confetti.registry.json": c.Registry} {
		text, err := os.ReadFile(from)
		x.must(err)
		x.must(os.WriteFile(filepath.Join(app, "counts", name), []byte(strings.Replace(string(text), "package app", "package counts", 1)), 0o600))
	}
	for _, c := range []struct{ workspace, line string }{
		{"off", "list -mod=readonly -deps ."}, // its go.mod says all that it takes
		{doctest.Together(t, root, app), "build -o editor ."},
	} {
		build := exec.CommandContext(t.Context(), "go", strings.Fields(c.line)...)
		build.Dir, build.Env = app, append(os.Environ(), "GOWORK="+c.workspace)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %s", c.line, err, out)
		}
	}
	run := func(folder, word string, env ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "./editor", folder, word)
		c.Dir = app
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CI=") }), env...)
		out, err := c.CombinedOutput()
		if err != nil && len(env) == 0 {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if said := run("later", "later"); strings.Count(said, "asks: ") != 10 || !strings.Contains(said, "Welcome.\n") {
		t.Errorf("before a yes it says %s", said)
	}
	if _, err := os.Stat(filepath.Join(app, "later")); !os.IsNotExist(err) {
		t.Errorf("before a yes it keeps a folder: %v", err)
	}
	if said := run("yes", "yes"); !strings.Contains(said, "Welcome") {
		t.Error(said)
	}
	if said := run("yes", "later"); strings.Contains(said, "asks: ") {
		t.Errorf("after a yes it asks again: %s", said)
	}
	kept, err := os.ReadFile(filepath.Join(app, "yes", "metrics"))
	if err != nil || !strings.Contains(string(kept), `"new_welcome":{"arm":"`) || !strings.Contains(string(kept), `"app":"editor"`) {
		t.Errorf("%v: after a yes it keeps %s", err, kept)
	}
	if said := run("ci", "yes", "CI=true"); !strings.Contains(said, "the app is not open") {
		t.Errorf("in CI it says %s", said)
	}
	if _, err := os.Stat(filepath.Join(app, "ci")); !os.IsNotExist(err) {
		t.Errorf("in CI it keeps a folder: %v", err)
	}
}
