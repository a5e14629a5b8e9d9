package doctest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Together makes a workspace of modules of a checkout, for GOWORK: what they are made of is compiled once and serves all of
// them. That a module's own go.mod says all that it takes is seen without it, by go list -deps.
func Together(t *testing.T, modules ...string) (file string) {
	t.Helper()
	c := exec.Command("go", "work", "init")
	c.Dir = t.TempDir()
	for _, m := range modules {
		m, err := filepath.Abs(m)
		if err != nil {
			t.Fatal(err)
		}
		c.Args = append(c.Args, m)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go work init: %v\n%s", err, out)
	}
	return filepath.Join(c.Dir, "go.work")
}
