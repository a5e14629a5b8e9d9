// Package datatest finds the folder of data sets for tests. Used by tests of internal/dataset, internal/dp/kde and
// lab.
package datatest

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder returns that which CONFETTI_DATA names, where one of its files or folders has to be there. Where nobody names
// a folder, one beside the repository is taken, and a test is skipped without it: whoever says where the
// data are means them to be tested with.
func Folder(t testing.TB, name string) string {
	t.Helper()
	dir, named := os.LookupEnv("CONFETTI_DATA")
	if dir == "" {
		named = false
		up := ".."
		for range 6 { // from any package
			if info, err := os.Stat(filepath.Join(up, "shared", "data")); err == nil && info.IsDir() {
				dir = filepath.Join(up, "shared", "data")
				break
			}
			up = filepath.Join(up, "..")
		}
	}
	if _, err := os.Stat(filepath.Join(dir, name)); dir == "" || err != nil {
		if named {
			t.Fatalf("CONFETTI_DATA is %s, which has no %s: name the folder of data sets, or leave it unset", dir, name)
		} else {
			t.Skipf("%s is not here: set CONFETTI_DATA to the folder of data sets", name)
		}
	}
	return dir
}
