//go:build unix

package beside

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test's own program, started as confetti, is confetti.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "confetti" {
		os.Exit(Start(os.Args[1:], os.Stderr))
	}
	os.Exit(m.Run())
}

// another is what stands beside it: it says its arguments, waits for a line, and ends as that says; a
// signal that it is sent it tells.
const another = `#!/bin/sh
trap 'echo "told to stop"; exit 7' TERM
echo "asked: $@"
read line
exit $line
`

// beside puts confetti into a folder, with another program beside it or not.
func beside(t *testing.T, other string) (confetti string) {
	t.Helper()
	dir := t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(own)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "confetti"), text, 0o755)
	}
	if err == nil && other != "" {
		err = os.WriteFile(filepath.Join(dir, program), []byte(other), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "confetti")
}

// What is asked reaches the other program as it was typed; its output and its exit code are confetti's. A link
// to confetti from another folder finds it too.
func TestTheOtherProgramTakesOver(t *testing.T) {
	confetti := beside(t, another)
	link := filepath.Join(t.TempDir(), "confetti")
	if err := os.Symlink(confetti, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{confetti, link} {
		for _, code := range []int{0, 1, 3} {
			c := exec.Command(path, "up", "a folder", "--open")
			c.Stdin = strings.NewReader(string(rune('0'+code)) + "\n")
			out, err := c.CombinedOutput()
			if string(out) != "asked: up a folder --open\n" || c.ProcessState.ExitCode() != code {
				t.Errorf("%s: %q, %v, want exit code %d", path, out, err, code)
			}
		}
	}
}

// A signal that is sent to confetti is the other program's.
func TestSignalsReachTheOtherProgram(t *testing.T) {
	c := exec.Command(beside(t, another), "serve")
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 100)
	if n, err := stdout.Read(buffer); err != nil || string(buffer[:n]) != "asked: serve\n" {
		t.Fatalf("%q, %v", buffer[:n], err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stdin.Close() // a shell tells of a signal when what it waits for is over
	n, _ := stdout.Read(buffer)
	err = c.Wait()
	if ended, is := errors.AsType[*exec.ExitError](err); !is || ended.ExitCode() != 7 || string(buffer[:n]) != "told to stop\n" {
		t.Errorf("%q, %v", buffer[:n], err)
	}
}

// Where the other program is not there, or is none, confetti says what to do.
func TestWhereThereIsNoOther(t *testing.T) {
	for _, c := range []struct{ other, says string }{{"", "is a command of confetti-server, which is not beside confetti in "}, {"no program", "does not start"}} {
		confetti := beside(t, c.other)
		var said bytes.Buffer
		run := exec.Command(confetti, "up", "trial")
		run.Stderr = &said
		if err := run.Run(); run.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), c.says) || !strings.Contains(said.String(), filepath.Dir(confetti)) {
			t.Errorf("%v, %q", err, &said)
		}
	}
}
