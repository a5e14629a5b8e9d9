package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFailingOrFullDiskIsNoticed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	d := WatchDisk(folder)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("looking leaves %v", files)
	}
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	if err := d.Err(); err != nil {
		t.Errorf("it looks more often than it should: %v", err)
	}
	d.every = 0
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "fails") {
		t.Errorf("a folder that is gone: %v", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Err(); err != nil {
		t.Errorf("it is there again: %v", err)
	}
	if _, known := Free(folder); known {
		d.least = 1 << 62
		if err := d.Err(); err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("a full disk: %v", err)
		}
	}
	d.every = time.Hour
}
