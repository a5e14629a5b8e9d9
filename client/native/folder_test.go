//go:build unix

package native

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/storage/atomicfile"
)

// open is a folder that is locked until the test ends.
func open(t *testing.T) Folder {
	t.Helper()
	f := Folder{Path: filepath.Join(t.TempDir(), "device")}
	unlock, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unlock)
	return f
}

func TestWhatIsKeptIsThere(t *testing.T) {
	f := open(t)
	has := func(name, want string) {
		t.Helper()
		if got, err := f.Load(name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, not %q", name, got, err, want)
		}
	}
	for _, name := range []string{"ledger", "spool/x-0"} {
		if _, err := f.Load(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s before: %v", name, err)
		}
		if _, err := f.Stamp(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the stamp of %s before: %v", name, err)
		}
		if err := f.Append(name, 0, []byte("x")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an append to nothing: %v", err)
		}
		if err := f.Remove(name); err != nil {
			t.Errorf("nothing is removed: %v", err)
		}
		if err := f.Replace(name, []byte("head|")); err != nil {
			t.Fatal(err)
		}
		before, err := f.Stamp(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Append(name, 5, []byte("one|torn")); err != nil {
			t.Fatal(err)
		}
		if err := f.Append(name, 9, []byte("two")); err != nil { // a torn end is cut off
			t.Fatal(err)
		}
		has(name, "head|one|two")
		if after, err := f.Stamp(name); err != nil || after == before {
			t.Errorf("%s has the stamp %v after a change: %v", name, after, err)
		}
		if status, err := os.Stat(f.path(name)); err != nil || status.Mode().Perm() != 0o600 {
			t.Errorf("%s is open to others: %v %v", name, status, err)
		}
	}
	// The same bytes, at the same time, are another change: nothing that was replaced goes unseen.
	before, _ := f.Stamp("ledger")
	status, err := os.Stat(f.path("ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Replace("ledger", []byte("HEAD|one|two")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(f.path("ledger"), time.Time{}, status.ModTime()); err != nil {
		t.Fatal(err)
	}
	if after, _ := f.Stamp("ledger"); after == before {
		t.Error("a replacement of the same length and time has the same stamp")
	}
	if err := f.Remove("spool/x-0"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("spool/x-0"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed: %v", err)
	}
}

// What a crash has left unfinished is in no list and gone after one.
func TestAListForgetsWhatIsUnfinished(t *testing.T) {
	f := open(t)
	for _, name := range []string{"ledger", "spool/a-0", "spool/b-1"} {
		if err := f.Replace(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	left := []string{f.path(atomicfile.Unfinished + "ledger-1"), f.path("spool/" + atomicfile.Unfinished + "a-0-1")}
	for _, path := range left {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sizes, err := f.List()
	want := map[string]int64{"ledger": 6, "spool/a-0": 9, "spool/b-1": 9, lockFile: 0}
	if err != nil || !maps.Equal(sizes, want) {
		t.Errorf("%v, not %v: %v", sizes, want, err)
	}
	for _, path := range left {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}

// One at a time is in a folder, and who waits comes in when the other leaves.
func TestTheLockKeepsOthersOut(t *testing.T) {
	f := Folder{Path: t.TempDir()}
	if err := os.Chmod(f.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := f.Lock()
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan error, 1)
	go func() {
		unlock, err := f.Lock()
		if err == nil {
			unlock()
		}
		entered <- err
	}()
	select {
	case err := <-entered:
		t.Fatalf("two are in: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	unlock()
	if err := <-entered; err != nil {
		t.Error(err)
	}
}

// A folder or a secret that others can look into is refused, and a secret in two places.
func TestWhatOthersSeeIsRefused(t *testing.T) {
	if _, err := (Folder{}).Lock(); err == nil {
		t.Error("no path")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := (Folder{Path: dir}).Lock(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("an open folder: %v", err)
	}
	f := open(t)
	if err := f.Replace(secretFile, []byte("s")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Load(secretFile); err != nil || string(got) != "s" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Chmod(f.path(secretFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(secretFile); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("an open secret: %v", err)
	}
	apart := Folder{Path: f.Path, Secret: filepath.Join(t.TempDir(), "secret")}
	if _, err := apart.Load(secretFile); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "move it there") {
		t.Errorf("a secret in two places: %v", err)
	}
	if err := os.Remove(f.path(secretFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := apart.Load(secretFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no secret: %v", err)
	}
	if err := apart.Replace(secretFile, []byte("t")); err != nil {
		t.Fatal(err)
	}
	if got, err := apart.Load(secretFile); err != nil || string(got) != "t" {
		t.Errorf("a secret apart: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(f.Path, secretFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a secret apart is in the folder: %v", err)
	}
}
