// Package linked lists which of our packages a linked program contains. Used by tests of cmd/internal/shuffler and
// cmd/internal/aggregator, which must not be able to read what they carry.
package linked

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/tools/architecture"
)

// reading are the folders of what can read a report or open a sum, or knows what one means.
var reading = []string{
	"account", "client", "party/analyzer", "internal/analyzer", "internal/service/analyzerd", "internal/learn", "protocol", "question", "internal/question", "release",
	"internal/dp/bitsum", "internal/dp/direction", "internal/dp/encode", "internal/dp/estimate", "internal/dp/fragment", "internal/dp/kde",
	"internal/dp/latent", "internal/dp/randomize", "internal/dp/sketch", "internal/dp/tally", "internal/dp/vector",
}

// Build links a program for Linux and returns the packages of ours that have code or data in it.
func Build(t *testing.T, program string) []string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary")
	c := exec.Command("go", "build", "-o", binary, program)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return packages(t, binary)
}

// packages returns the packages of ours that have code or data in a binary with symbols.
func packages(t *testing.T, binary string) []string {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, s := range symbols {
		// module/path.Name, also within type:.eq.module/path.Name and the like.
		for parts := strings.Split(s.Name, architecture.Module); len(parts) > 1; parts = parts[1:] {
			folder, name := "", parts[1]
			if i := strings.IndexAny(name, "[{("); i >= 0 {
				name = name[:i] // arguments of types come later
			}
			if i := strings.LastIndex(name, "/"); i >= 0 {
				folder, name = name[:i+1], name[i+1:]
			}
			name, _, _ = strings.Cut(name, ".")
			found = append(found, folder+name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Readers returns those of the packages that can read what a program carries.
func Readers(found []string) []string {
	return slices.DeleteFunc(slices.Clone(found), func(p string) bool {
		return !slices.ContainsFunc(reading, func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
	})
}
