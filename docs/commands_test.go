//go:build unix

// Package docs_test types every command of the README, the operating manual and what follows them. It is
// apart from other tests for its time: it builds the programs and runs the demo. The
// documents print commands of a Unix shell.
package docs_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// followed are run in this order, in one folder: a reader goes through them so.
var followed = []string{"README.md", "docs/README.md", "docs/tables.md", "docs/operating.md", "docs/operating-roles.md", "docs/operating-entry.md", "docs/operating-day2.md", "docs/damaged-disks.md", "docs/auditing.md", "docs/auditing-evidence.md", "docs/sums.md", "docs/console.md", "docs/console-run.md", "docs/scale.md", "docs/scale-counting.md"}

// exempt are the printed commands that the test does not run, and why.
var exempt = map[string]string{
	"go test ./...": "it is what runs this test",
	"go test ./internal/audit -run TestAttacksFindTheirShares -shares -timeout 0 -v": "it makes millions of collections; the same test makes fewer of them wherever it is run without -shares",
	"confetti-shuffler --config shuffler.toml --set-aside":                           "it is for a stopped service with a damaged disk, which its own tests make",
}

// lasting are printed commands that go on until they are stopped: what their output
// has when the next line can be typed.
var lasting = map[string]string{
	"confetti up":            "Now type, in another terminal:",
	"confetti serve console": "The console is at ",
}

// Every command of the README and of the manuals works as it is printed, from
// a fresh clone, one after the other.
func TestThePrintedCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs the demo")
	}
	root := doctest.Clone(t, "..")
	var commands []doctest.Command
	for _, file := range followed {
		commands = append(commands, doctest.CommandsIn(t, root, file)...)
	}
	if len(commands) < 45 {
		t.Errorf("only %d commands are printed", len(commands))
	}
	for text := range exempt {
		if !slices.ContainsFunc(commands, func(p doctest.Command) bool { return p.Text == text }) {
			t.Errorf("%q is exempt and not printed", text)
		}
	}
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	before := git("status", "--porcelain")
	s := doctest.NewSession(t, root, doctest.Patience(t))
	for _, p := range commands {
		if _, not := exempt[p.Text]; not {
			continue
		}
		begun, waits := time.Now(), service(p.Text)
		var err error
		if waits != "" {
			err = s.Start(p.Text, waits)
		} else {
			_, err = s.Run(p.Text)
		}
		if err != nil {
			t.Fatalf("%s\n%v", p, err)
		}
		t.Logf("%s (%.1f s)", p, time.Since(begun).Seconds())
	}
	if err := s.End(); err != nil {
		t.Error(err)
	}
	if after := git("status", "--porcelain"); after != before {
		t.Errorf("the commands leave what git is not told to ignore:\n%s", after)
	}
}

// service is what the output of a command has once it serves; empty if it ends by itself.
func service(command string) string {
	for prefix, waits := range lasting {
		if strings.HasPrefix(command, prefix+" ") {
			return waits
		}
	}
	return ""
}
