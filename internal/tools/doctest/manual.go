//go:build unix

// Package doctest types what documents print: the commands in their blocks of sh, one after the other, in a shell of
// a new user. Used by tests of docs, cmd/confetti and internal/tools.
package doctest

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Command is one command of a document.
type Command struct {
	File string
	Line int
	Text string // as printed, without what is said of it behind a #
}

func (c Command) String() string { return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Text) }

// CommandsIn finds the commands of a document: the lines of its blocks of sh. Every
// other block must say what it is.
func CommandsIn(t *testing.T, root, file string) []Command {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var all []Command
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
		all = append(all, Command{file, n, strings.TrimSpace(command)})
	}
	return all
}

// Clone copies the state of the tree in a folder, as git would bring it, into a new one.
func Clone(t *testing.T, tree string) string {
	t.Helper()
	out, err := exec.Command("git", "-C", tree, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	to := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from := filepath.Join(tree, name)
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

// Patience returns how long the commands may take together: they end before the tests' own
// time is over, which would leave services behind.
func Patience(t *testing.T) time.Duration {
	if end, limited := t.Deadline(); limited {
		return time.Until(end) - 20*time.Second
	}
	return 10 * time.Minute
}

// Session is a shell in a folder, whose commands are typed one by one, and the services
// that were started from it. All of them are one group of processes.
type Session struct {
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

// NewSession starts a shell that, with all that it starts, ends after some time.
func NewSession(t *testing.T, root string, most time.Duration) *Session {
	t.Helper()
	return newSessionAs(t, root, most, os.Getuid())
}

// newSessionAs starts one of another user of this machine, who gets a home and may reach what the test has
// made. Who is not root can be nobody else.
func newSessionAs(t *testing.T, root string, most time.Duration, user int) *Session {
	t.Helper()
	home, logs := t.TempDir(), t.TempDir()
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if user != os.Getuid() {
		attributes.Credential = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
		if err := errors.Join(os.Chmod(filepath.Dir(home), 0o711), os.Chown(home, user, user), os.Chown(logs, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	// Not the test's own context, which ends before the shell has ended what it started.
	ctx, stop := context.WithTimeout(context.Background(), most)
	shell := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-s")
	shell.Dir = root
	shell.Env = append(Environment(t), "HOME="+home)
	shell.SysProcAttr = attributes
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
	s := &Session{shell: shell, stop: stop, logs: logs, typed: typed, out: bufio.NewReaderSize(r, 1<<20)}
	// So that services end with the shell, and the shell with this process, whatever ends it.
	// A job of a shell without a terminal ignores SIGINT.
	io.WriteString(typed, "trap 'kill -TERM $(jobs -p) 2>/dev/null; wait' EXIT\n")
	context.AfterFunc(ctx, func() { w.CloseWithError(errTime) })
	t.Cleanup(func() {
		if err := s.End(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var errTime = errors.New("the time for all commands is over")

// End stops the services and waits until nothing of the session is left.
func (s *Session) End() error {
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

// Environment returns that of a new user, with the caches of this machine.
func Environment(t *testing.T) []string {
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
		value := strings.TrimSpace(string(out))
		if name == "GOFLAGS" && !strings.Contains(value, "-trimpath") {
			// What was compiled in one clone's folder serves in all others.
			value = strings.TrimSpace(value + " -trimpath")
		}
		env = append(env, name+"="+value)
	}
	return env
}

// Run types a command, waits for its end and returns what it printed. The error says
// so too.
func (s *Session) Run(command string) (string, error) {
	fmt.Fprintf(s.typed, "{ %s\n} </dev/null\nprintf '\\n%s%%d\\n' $?\n", command, prompt)
	out, code, err := s.read()
	if err == nil && code != 0 {
		err = fmt.Errorf("ends with exit code %d", code)
	}
	if err != nil {
		err = fmt.Errorf("%w:\n%s", err, out)
	}
	return out, err
}

// Start types a command that goes on, and waits until it serves.
func (s *Session) Start(command, waits string) error {
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

// read returns what was printed until the prompt, and the exit code.
func (s *Session) read() (out string, code int, err error) {
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
