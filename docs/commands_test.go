// Package docs_test types every command of the README and of the operating manual. It is
// apart from other tests for its time: it builds the programs and runs the demo.
package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// followed are run in this order, in one folder: a reader goes through them so.
var followed = []string{"README.md", "docs/operating.md"}

// exempt are the printed commands that the test does not run, and why.
var exempt = map[string]string{
	"go test ./...": "it is what runs this test",
	"confetti-shuffler --config shuffler.toml --set-aside": "it is for a stopped service with a damaged disk, which its own tests make",
}

// lasting are printed commands that go on until they are stopped: what their output
// has when the next line can be typed.
var lasting = map[string]string{
	"confetti up":  "Now type, in another terminal:",
	"confetti top": "analyzer at ",
}

// printed is one command of a document.
type printed struct {
	file string
	line int
	text string // as printed, without what is said of it behind a #
}

func (p printed) String() string { return fmt.Sprintf("%s:%d: %s", p.file, p.line, p.text) }

// printedIn finds the commands of a document: the lines of its blocks of sh. Every
// other block must say what it is.
func printedIn(t *testing.T, root, file string) []printed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var all []printed
	kind, inside := "", false
	n := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		n++
		if info, fence := strings.CutPrefix(line, "```"); fence {
			if inside = !inside; inside {
				if kind = info; kind == "" {
					t.Errorf("%s:%d: a block does not say what it is: sh for commands, which are then run", file, n)
				}
			}
			continue
		}
		if !inside || kind != "sh" || strings.TrimSpace(line) == "" {
			continue
		}
		command, _, _ := strings.Cut(line, " # ")
		all = append(all, printed{file, n, strings.TrimSpace(command)})
	}
	return all
}

// Every command of the README and of the operating manual works as it is printed, from
// a fresh clone, one after the other.
func TestThePrintedCommandsWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs the demo")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the documents print commands of a Unix shell")
	}
	root := clone(t)
	var commands []printed
	for _, file := range followed {
		commands = append(commands, printedIn(t, root, file)...)
	}
	if len(commands) < 45 {
		t.Errorf("only %d commands are printed", len(commands))
	}
	for text := range exempt {
		if !slices.ContainsFunc(commands, func(p printed) bool { return p.text == text }) {
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
	s := newSession(t, root)
	for i, p := range commands {
		if _, not := exempt[p.text]; not {
			continue
		}
		if waits := service(p.text); waits != "" {
			s.start(i, p, waits)
		} else {
			s.run(p)
		}
	}
	if after := git("status", "--porcelain"); after != before {
		t.Errorf("the commands leave what git is not told to ignore:\n%s", after)
	}
}

// service is what the output of a command has once it serves; empty if it ends by itself.
func service(command string) string {
	for prefix, waits := range lasting {
		if strings.HasPrefix(command, prefix+" ") && !strings.Contains(command, " --once") && !strings.Contains(command, " --web") {
			return waits
		}
	}
	return ""
}

// clone copies the tree's state, as git would bring it, into a new folder.
func clone(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	to := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from := filepath.Join("..", name)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// session is a shell in a folder, whose commands are typed one by one, and the services
// that were started from it.
type session struct {
	t     *testing.T
	logs  string // folder of the services' output
	typed io.Writer
	out   *bufio.Reader
}

// A prompt that no command prints.
const prompt = "@@@ confetti test @@@ "

func newSession(t *testing.T, root string) *session {
	t.Helper()
	home := t.TempDir()
	// Not the test's own context, which ends before the shell has ended what it started.
	ctx, cancel := context.WithCancel(context.Background())
	shell := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-s")
	shell.Dir = root
	shell.Env = append(environment(t), "HOME="+home)
	typed, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	shell.Stdout, shell.Stderr = w, w
	shell.WaitDelay = 5 * time.Second
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, logs: t.TempDir(), typed: typed, out: bufio.NewReaderSize(r, 1<<20)}
	t.Cleanup(func() {
		// The shell ends its jobs and waits for them; SIGINT is ignored by jobs of a
		// shell without a terminal.
		io.WriteString(typed, "kill -TERM $(jobs -p) 2>/dev/null; wait; exit\n")
		go io.Copy(io.Discard, r)
		stop := time.AfterFunc(time.Minute, cancel)
		if err := shell.Wait(); err != nil || !stop.Stop() {
			t.Errorf("the services that were started do not end: %v", err)
		}
		cancel()
	})
	return s
}

// environment is that of a new user, with the caches of this machine.
func environment(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CONFETTI_") && !strings.HasPrefix(v, "HOME=") {
			env = append(env, v)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// run types a command and waits for its end.
func (s *session) run(p printed) {
	s.t.Helper()
	start := time.Now()
	fmt.Fprintf(s.typed, "{ %s\n} </dev/null\necho; echo '%s'$?\n", p.text, prompt)
	out, code := s.read()
	s.t.Logf("%s (%.1f s)", p, time.Since(start).Seconds())
	if code != 0 {
		s.t.Fatalf("%s\nends with exit code %d:\n%s", p, code, out)
	}
}

// start types a command that goes on, and waits until it serves.
func (s *session) start(i int, p printed, waits string) {
	s.t.Helper()
	log := filepath.Join(s.logs, fmt.Sprint(i))
	fmt.Fprintf(s.typed, "%s </dev/null >%s 2>&1 &\necho; echo '%s'$?\n", p.text, log, prompt)
	s.read()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		if bytes.Contains(out, []byte(waits)) {
			s.t.Logf("%s (serves)", p)
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s\ndoes not say %q:\n%s", p, waits, out)
		}
	}
}

// read is what was printed until the prompt, and the exit code.
func (s *session) read() (out string, code int) {
	s.t.Helper()
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the shell has ended: %v\n%s", err, &b)
		}
		if n, is := strings.CutPrefix(line, prompt); is {
			if code, err = strconv.Atoi(strings.TrimSpace(n)); err != nil {
				s.t.Fatal(err)
			}
			return b.String(), code
		}
		b.WriteString(line)
	}
}
