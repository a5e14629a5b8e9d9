// Package foreign builds the C library and runs a trial for devices that are in another language. Used by tests of
// web/client, cmd/libconfetti, client/kotlin and internal/tools/publish.
package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Library builds the C library in a folder, and returns its file; root is the repository, and changes are flags of go build
// more. Where there is no C compiler the test is skipped.
func Library(t *testing.T, root, dir string, changes ...string) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("NO C COMPILER: there is no cc on this machine, so the C library was not built (apt-get install gcc libc6-dev)")
	}
	file := filepath.Join(dir, "libconfetti.so")
	args := append([]string{"build", "-trimpath", "-tags=libconfetti", "-buildmode=c-shared", "-ldflags=-s -w -extldflags=-Wl,-soname,libconfetti.so.1", "-o", file}, changes...)
	build := exec.CommandContext(t.Context(), "go", append(args, "./cmd/libconfetti")...)
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Symlink("libconfetti.so", file+".1"); err != nil { // by which a program that is linked with it looks for it
		t.Fatal(err)
	}
	return file
}

// Trial is a collection of a trial's services, on loopback, with the program that runs it.
type Trial struct {
	T       *testing.T
	Program string
	Dir     string
	Stop    func()
}

// Collect builds the programs and starts confetti up with so many devices; root is the repository. Asked is what plan new takes
// of a plan in the place of the sample.
func Collect(t *testing.T, root string, devices int, asked ...string) *Trial {
	t.Helper()
	c := &Trial{T: t, Program: filepath.Join(t.TempDir(), "confetti"), Dir: filepath.Join(t.TempDir(), "trial")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Dir(c.Program), "./cmd/confetti", "./cmd/confetti-server")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	flags := []string{"--devices", strconv.Itoa(devices), "--closes", "1h"}
	if len(asked) > 0 {
		draft := filepath.Join(t.TempDir(), "plan.toml")
		c.Confetti(append([]string{"plan", "new", asked[0], draft, "--keys", filepath.Join(t.TempDir(), "keys")}, asked[1:]...)...)
		flags = append(flags, "--plan", draft)
	}
	c.Start(flags...)
	return c
}

// Start runs confetti up until it is ready.
func (c *Trial) Start(flags ...string) {
	c.T.Helper()
	up := exec.Command(c.Program, append([]string{"up", c.Dir}, flags...)...)
	var said lines
	up.Stdout, up.Stderr = &said, &said
	if err := up.Start(); err != nil {
		c.T.Fatal(err)
	}
	c.Stop = sync.OnceFunc(func() {
		up.Process.Signal(os.Interrupt)
		up.Wait()
	})
	c.T.Cleanup(c.Stop)
	for deadline := time.Now().Add(90 * time.Second); !strings.Contains(said.String(), "To watch:"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.T.Fatalf("the trial does not start:\n%s", said.String())
		}
	}
}

// lines is what a program has said so far.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// String returns all of it.
func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// Confetti runs a command of the program.
func (c *Trial) Confetti(args ...string) string {
	c.T.Helper()
	out, err := exec.CommandContext(c.T.Context(), c.Program, args...).CombinedOutput()
	if err != nil {
		c.T.Fatalf("confetti %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Respondents closes the collection, and returns how many the release counts.
func (c *Trial) Respondents() int {
	c.T.Helper()
	c.Confetti("plan", "close", "--dir", c.Dir)
	out := filepath.Join(c.T.TempDir(), "release")
	c.Confetti("release", "fetch", "--dir", c.Dir, "--out", out)
	c.Confetti("release", "verify", out, "--publishers", filepath.Join(c.Dir, "publishers.txt"))
	text, err := os.ReadFile(filepath.Join(out, "release.json"))
	if err != nil {
		c.T.Fatal(err)
	}
	var release struct {
		Headline []struct {
			Name  string
			Value float64
		}
	}
	if err := json.Unmarshal(text, &release); err != nil || len(release.Headline) == 0 || release.Headline[0].Name != "respondents" {
		c.T.Fatalf("%v\n%s", err, text)
	}
	return int(release.Headline[0].Value)
}

// Submit answers as so many devices of Go.
func (c *Trial) Submit(devices int) {
	c.T.Helper()
	var values strings.Builder
	values.WriteString("colour\n")
	for i := range devices {
		fmt.Fprintln(&values, []string{"red", "green", "blue"}[i%3])
	}
	file := filepath.Join(c.T.TempDir(), "values.csv")
	if err := os.WriteFile(file, []byte(values.String()), 0o600); err != nil {
		c.T.Fatal(err)
	}
	c.Confetti("submit", file, "--dir", c.Dir, "--devices")
}
