package datatest

import (
	"os"
	"path/filepath"
	"testing"
)

// judged is a test that says whether it was failed or skipped.
type judged struct {
	testing.TB
	failed, skipped bool
}

func (j *judged) Helper()               {}
func (j *judged) Fatalf(string, ...any) { j.failed = true }
func (j *judged) Skipf(string, ...any)  { j.skipped = true }

// Where somebody says where the data are, a test that does not find them fails.
func TestNamedDataHaveToBeThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "mnist"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONFETTI_DATA", dir)
	for name, fails := range map[string]bool{"mnist": false, "agnews": true} {
		j := &judged{TB: t}
		if got := Folder(j, name); j.failed != fails || j.skipped || got != dir {
			t.Errorf("%s: failed %v, skipped %v, in %s", name, j.failed, j.skipped, got)
		}
	}
	t.Setenv("CONFETTI_DATA", "")
	j := &judged{TB: t}
	if Folder(j, "no such set"); j.failed || !j.skipped {
		t.Errorf("without a folder: failed %v, skipped %v", j.failed, j.skipped)
	}
}
