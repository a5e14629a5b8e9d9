//go:build unix

// Package docs_test types every command of the README and of the operating manual. It is
// apart from other tests for its time: it builds the programs and runs the demo. The
// documents print commands of a Unix shell.
package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
	s := newSession(t, root, patience(t))
	for _, p := range commands {
		if _, not := exempt[p.text]; not {
			continue
		}
		begun, waits := time.Now(), service(p.text)
		var err error
		if waits != "" {
			err = s.start(p.text, waits)
		} else {
			err = s.run(p.text)
		}
		if err != nil {
			t.Fatalf("%s\n%v", p, err)
		}
		t.Logf("%s (%.1f s)", p, time.Since(begun).Seconds())
	}
	if err := s.end(); err != nil {
		t.Error(err)
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

// patience is how long the commands may take together: they end before the tests' own
// time is over, which would leave services behind.
func patience(t *testing.T) time.Duration {
	const most = 8 * time.Minute // on a machine that is busy with other tests
	if end, limited := t.Deadline(); limited {
		return min(most, time.Until(end)-20*time.Second)
	}
	return most
}

// session is a shell in a folder, whose commands are typed one by one, and the services
// that were started from it. All of them are one group of processes.
type session struct {
	shell *exec.Cmd
	stop  context.CancelFunc
	ended bool
	logs  string // folder of the services' output
	begun int    // services
	typed io.WriteCloser
	out   *bufio.Reader
}

// A prompt that no command prints.
const prompt = "@@@ confetti test @@@ "

// newSession starts a shell that, with all that it starts, ends after some time.
func newSession(t *testing.T, root string, most time.Duration) *session {
	t.Helper()
	// Not the test's own context, which ends before the shell has ended what it started.
	ctx, stop := context.WithTimeout(context.Background(), most)
	shell := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-s")
	shell.Dir = root
	shell.Env = append(environment(t), "HOME="+t.TempDir())
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	typed, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	shell.Stdout, shell.Stderr = w, w
	shell.WaitDelay = 10 * time.Second
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	s := &session{shell: shell, stop: stop, logs: t.TempDir(), typed: typed, out: bufio.NewReaderSize(r, 1<<20)}
	// So that services end with the shell, and the shell with this process, whatever ends it.
	// A job of a shell without a terminal ignores SIGINT.
	io.WriteString(typed, "trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT\n")
	context.AfterFunc(ctx, func() { w.CloseWithError(errTime) })
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var errTime = errors.New("the time for all commands is over")

// end stops the services and waits until nothing of the session is left.
func (s *session) end() error {
	if s.ended {
		return nil
	}
	s.ended = true
	defer s.stop()
	s.typed.Close()
	go io.Copy(io.Discard, s.out)
	hung := time.AfterFunc(time.Minute, s.stop)
	err := s.shell.Wait()
	if !hung.Stop() {
		err = errors.New("the services that were started do not end")
	}
	group := -s.shell.Process.Pid
	for end := time.Now().Add(10 * time.Second); syscall.Kill(group, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // what was killed is gone by now
			return errors.Join(err, errors.New("a process that was started goes on"), syscall.Kill(group, syscall.SIGKILL))
		}
	}
	return err
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
func (s *session) run(command string) error {
	fmt.Fprintf(s.typed, "{ %s\n} </dev/null\nprintf '\\n%s%%d\\n' $?\n", command, prompt)
	out, code, err := s.read()
	if err == nil && code != 0 {
		err = fmt.Errorf("ends with exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return nil
}

// start types a command that goes on, and waits until it serves.
func (s *session) start(command, waits string) error {
	s.begun++
	log := filepath.Join(s.logs, fmt.Sprint(s.begun))
	fmt.Fprintf(s.typed, "%s </dev/null >%s 2>&1 &\nprintf '\\n%s%%d\\n' $?\n", command, log, prompt)
	if out, _, err := s.read(); err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if bytes.Contains(out, []byte(waits)) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("does not say %q:\n%s", waits, out)
		}
	}
}

// read is what was printed until the prompt, and the exit code.
func (s *session) read() (out string, code int, err error) {
	var b strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return b.String(), 0, fmt.Errorf("the shell has ended: %w", err)
		}
		if n, is := strings.CutPrefix(line, prompt); is {
			code, err := strconv.Atoi(strings.TrimSpace(n))
			return b.String(), code, err
		}
		b.WriteString(line)
	}
}

// A command that fails, one that never ends and a service that never serves are errors,
// and nothing that was started is left.
func TestASessionReportsFailuresAndLeavesNothing(t *testing.T) {
	s := newSession(t, t.TempDir(), time.Minute)
	if err := s.start("sleep 1000", ""); err != nil {
		t.Error(err)
	}
	if err := s.run("echo told; sh -c 'exit 3'"); err == nil || !strings.Contains(err.Error(), "exit code 3:\ntold") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := s.run("X=1"); err != nil {
		t.Error(err)
	}
	if err := s.run(`test "$X" = 1`); err != nil {
		t.Errorf("what one command exports is not there for the next: %v", err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	s = newSession(t, t.TempDir(), time.Second)
	if err := s.run("sleep 1000 & sleep 1000"); !errors.Is(err, errTime) {
		t.Errorf("a command that never ends: %v", err)
	}
	if err := s.end(); err == nil || strings.Contains(err.Error(), "goes on") {
		t.Errorf("the end of a session whose time was over: %v", err)
	}
}
