//go:build unix

// Package docs_test types every command of the README, the operating manual and what follows them. It is
// apart from other tests for its time: it builds the programs and runs the demo. The
// documents print commands of a Unix shell.
package docs_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/tools/doctest"
)

// followed are run in this order, in one folder: a reader goes through them so.
var followed = []string{"README.md", "docs/README.md", "docs/tables.md", "docs/strings.md", "docs/experiments.md", "docs/crosstabs.md", "docs/counters.md", "docs/operating.md", "docs/operating-roles.md", "docs/operating-day2.md", "docs/damaged-disks.md", "docs/auditing.md", "docs/auditing-evidence.md", "docs/sums.md", "docs/console.md", "docs/console-run.md", "docs/scale.md", "docs/scale-counting.md"}

// exempt are the printed commands that the test does not run, and why.
var exempt = map[string]string{
	"go test ./...": "it is how this test was begun",
	"go test ./internal/audit -run TestAttacksFindTheirShares -shares -timeout 0 -v": "it makes millions of collections; the same test makes fewer of them wherever it is run without -shares",
	"confetti-shuffler --config shuffler.toml --set-aside":                           "it is for a stopped service with a damaged disk, which its own tests make",
}

// lasting are printed commands that go on until they are stopped: what their output
// has when the next line can be typed.
var lasting = map[string]string{
	"confetti up":            "in another terminal:",
	"confetti serve console": "The console is at ",
}

// Every command of the README and of the manuals works as it is printed, from
// a fresh clone, one after the other.
func TestThePrintedCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs the demo")
	}
	commands := reader(t, cloned(t), exempt, 45, followed...)
	commands.typed(t, asPrinted)
}

// built is where the programs are that the reader of an earlier clone has built; empty before.
var built string

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "confetti-built-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// cloned copies the tree, with the programs that an earlier reader has built: the go command compares what they are made
// of, and links those anew alone that would be others.
func cloned(t *testing.T) (root string) {
	t.Helper()
	root = doctest.Clone(t, "..")
	programs, err := filepath.Glob("../cmd/confetti*")
	if err != nil {
		t.Fatal(err)
	}
	move := func(from, to string) {
		for _, p := range programs {
			err := os.Link(filepath.Join(from, filepath.Base(p)), filepath.Join(to, filepath.Base(p)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		}
	}
	move(built, root)
	t.Cleanup(func() { move(root, built) })
	return root
}

// typing returns how a printed command is typed.
type typing func(s *doctest.Session, text string) (string, error)

func asPrinted(_ *doctest.Session, text string) (string, error) { return text, nil }

// sequence is the commands that a reader of a clone types.
type sequence struct {
	root     string
	commands []doctest.Command
	session  *doctest.Session
}

// reader returns the commands of documents in a clone, at least so many, less those that are exempt.
func reader(t *testing.T, root string, exempt map[string]string, least int, files ...string) sequence {
	t.Helper()
	q := sequence{root: root}
	for _, file := range files {
		q.commands = append(q.commands, doctest.CommandsIn(t, root, file)...)
	}
	if len(q.commands) < least {
		t.Errorf("only %d commands are printed", len(q.commands))
	}
	for text := range exempt {
		if !slices.ContainsFunc(q.commands, func(p doctest.Command) bool { return p.Text == text }) {
			t.Errorf("%q is exempt and not printed", text)
		}
	}
	q.commands = slices.DeleteFunc(q.commands, func(p doctest.Command) bool { return exempt[p.Text] != "" })
	q.session = doctest.NewSession(t, root, doctest.Patience(t))
	if _, err := q.session.Run("export GOWORK=" + doctest.Together(t, root, filepath.Join(root, "lab"))); err != nil {
		t.Fatal(err)
	}
	return q
}

// typed types the commands, each as it is said to be typed here, and returns what those said that
// end, by what is printed.
func (q sequence) typed(t *testing.T, as typing) (said map[string]string) {
	t.Helper()
	said = map[string]string{}
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", q.root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "-A")
	before := git("status", "--porcelain")
	for _, p := range q.commands {
		begun := time.Now()
		text, err := as(q.session, p.Text)
		if waits := service(p.Text); err == nil && waits != "" {
			err = q.session.Start(text, waits)
		} else if err == nil {
			said[p.Text], err = q.session.Run(text)
		}
		if err != nil {
			t.Fatalf("%s\n%v", p, err)
		}
		t.Logf("%s (%.1f s)", p, time.Since(begun).Seconds())
	}
	if err := q.session.End(); err != nil {
		t.Error(err)
	}
	if after := git("status", "--porcelain"); after != before {
		t.Errorf("the commands leave what git is not told to ignore:\n%s", after)
	}
	return said
}

// service is what the output of a command has once it serves; empty if it ends by itself, or goes on
// behind the shell as it is printed.
func service(command string) string {
	for prefix, waits := range lasting {
		if strings.HasPrefix(command, prefix+" ") && !strings.Contains(command, " & ") {
			return waits
		}
	}
	return ""
}
