package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhatStandsThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	holds := func(want string, mode fs.FileMode) {
		t.Helper()
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
		status, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && status.Mode().Perm() != mode {
			t.Errorf("mode %v, want %v", status.Mode().Perm(), mode)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 1 {
			t.Errorf("%d names in the folder, %v; want 1", len(left), err)
		}
	}
	if err := Create(path, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds("first", 0o600)
	if err := Create(path, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that was there: %v", err)
	}
	holds("first", 0o600)
	if err := Replace(path, []byte("third"), 0o644); err != nil {
		t.Fatal(err)
	}
	holds("third", 0o644)
}

// A folder in the place of the file lets the temporary file be written and then
// refuses it its name.
func TestAFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(string, []byte, fs.FileMode) error{"Create": Create, "Replace": Replace} {
		if err := write(path, []byte("x"), 0o600); err == nil {
			t.Errorf("%s put a file in the place of a folder", name)
		}
		if err := write(filepath.Join(dir, "none", "file"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s in a folder that is not there: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d names in the folder, %v; want 1", len(left), err)
	}
}
