package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A full disk, as nearly as a test without a disk of its own can have one: in a
// process of its own, no file may grow beyond a limit, so that a write really fails
// half-way: the smaller limit stops the first file, the larger one a later one.
func TestSaveOnAFullDisk(t *testing.T) {
	if dir := os.Getenv("RELEASE_TEST_DIR"); dir != "" {
		saveWithLimit(t, dir, os.Getenv("RELEASE_TEST_LIMIT"))
		return
	}
	small := sample(t)
	small.Provenance.Command = "the old one"
	for _, limit := range []string{"1000", "100000"} {
		fresh := filepath.Join(t.TempDir(), "made", "here")
		old := t.TempDir()
		if err := Save(old, small); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{fresh, old} {
			c := exec.Command(os.Args[0], "-test.run=^TestSaveOnAFullDisk$")
			c.Env = append(os.Environ(), "RELEASE_TEST_DIR="+dir, "RELEASE_TEST_LIMIT="+limit)
			out, err := c.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "free some space or choose another folder") {
				t.Errorf("limit %s: %v, %s", limit, err, out)
			}
		}
		if _, err := os.Stat(filepath.Dir(fresh)); !os.IsNotExist(err) {
			t.Errorf("limit %s: a folder was left: %v", limit, err)
		}
		if d := cmp.Diff(complete, names(t, old)); d != "" {
			t.Errorf("limit %s: %s", limit, d)
		}
		if r := opened(t, old); r.Provenance.Command != "the old one" {
			t.Errorf("limit %s: the release before is gone", limit)
		}
	}
}

func saveWithLimit(t *testing.T, dir, limit string) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		panic(err)
	}
	if _, err := fmt.Sscan(limit, &l.Cur); err != nil {
		panic(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l); err != nil {
		panic(err)
	}
	fmt.Println(Save(dir, sample(t)))
}
