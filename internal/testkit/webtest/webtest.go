// Package webtest runs the JavaScript of a folder in tests of Go. Used by tests of web, web/client,
// internal/service/console and cmd/confetti.
package webtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// oldest is the first version of Node that the packages are tested with.
const oldest = 20

// Node returns the path of Node, with the packages of package-lock.json installed in dir, the
// folder web of the tree. Where there is no Node, or no registry to install from, the
// test is skipped, unless CONFETTI_NODE=require.
func Node(t testing.TB, dir string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		absent(t, "there is no node here: install Node %d or newer", oldest)
	}
	out, err := exec.Command(node, "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(major); err != nil || n < oldest {
		absent(t, "node is %q: install Node %d or newer", strings.TrimSpace(string(out)), oldest)
	}
	install(t, dir)
	return node
}

func absent(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CONFETTI_NODE") == "require" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// install has npm fetch what the lockfile says, if it is not here already. Tests of other
// packages wait meanwhile.
func install(t testing.TB, dir string) {
	t.Helper()
	wanted, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	installed := filepath.Join(dir, "node_modules", ".confetti-lock.json")
	held := lock(t, filepath.Join(dir, ".install"))
	defer held.Close()
	if here, err := os.ReadFile(installed); err == nil && bytes.Equal(here, wanted) {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// No script of a package runs: esbuild works without its own.
	ci := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	ci.Dir = dir
	if out, err := ci.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("EUSAGE")) { // the lockfile is not that of package.json
			t.Fatalf("npm ci: %v\n%s", err, out)
		}
		absent(t, "npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(installed, wanted, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lock waits until no other test installs.
func lock(t testing.TB, folder string) *os.File {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for {
		held, err := atomicfile.Lock(folder)
		if err == nil {
			return held
		}
		if !errors.Is(err, atomicfile.ErrLocked) || t.Context().Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
