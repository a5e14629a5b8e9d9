package atomicfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is read whole; a folder, one that is not there and one that is larger than any of ours are said to be that.
func TestFilesAreReadWhole(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{0, 1, 4096, 100_001} {
		name, text := filepath.Join(dir, "file"), bytes.Repeat([]byte("x"), n)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(name); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d of %d bytes: %v", len(got), n, err)
		}
	}
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, most+1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{huge: "is larger than", dir: "is a folder", filepath.Join(dir, "none"): "none"} {
		if got, err := Read(name); got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}
