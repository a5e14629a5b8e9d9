package blob_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/blob"
	"github.com/confetti-dp/confetti/internal/storage/blob/blobtest"
)

// A part is what is asked for, until its fragments would be shorter than 128 KiB.
func TestPartBytes(t *testing.T) {
	const mib = 1 << 20
	for total, want := range map[int64]int{1: 16 * mib, 2048 * mib: 16 * mib, 4 * 2048 * mib: 32 * mib, 100 * 2048 * mib: 160 * mib} {
		if got := blob.PartBytes(total, 16*mib); got != want {
			t.Errorf("of %d bytes: %d, not %d", total, got, want)
		}
	}
	if got := blob.PartBytes(3600, 100); got != 600 {
		t.Errorf("parts of %d bytes", got)
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	blobtest.Store(t, func() blob.Store {
		f, err := blob.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
}

// A folder that another process has made, or has made anew, is synced like one of our own.
func TestFoldersOfOthersAreSynced(t *testing.T) {
	dir := t.TempDir()
	f, err := blob.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	under := filepath.Join(dir, "plan", "0_0", "1")
	if err := os.MkdirAll(under, 0o700); err != nil {
		t.Fatal(err)
	}
	syncs := blob.CountSyncs(f)
	put := func(name string, synced, known int) {
		t.Helper()
		before := *syncs
		if err := f.Put(t.Context(), name, []byte("body")); err != nil {
			t.Fatal(err)
		}
		if n := *syncs - before; n != synced || blob.Known(f) != known {
			t.Errorf("%s: %d folders were synced and not %d, %d are known and not %d", name, n, synced, blob.Known(f), known)
		}
	}
	put("plan/0_0/1/0", 3, 3)
	put("plan/0_0/1/1", 0, 3)
	put("plan/0_0/2/0", 1, 4)
	if err := f.Delete(t.Context(), "plan/0_0"); err != nil || blob.Known(f) != 1 {
		t.Error(blob.Known(f), err)
	}
	put("plan/0_0/1/0", 2, 3)
	if err := errors.Join(os.Rename(under, under+"-kept"), os.MkdirAll(under, 0o700)); err != nil {
		t.Fatal(err)
	}
	put("plan/0_0/1/0", 1, 3)
}

// What is as short as a key is overwritten when it goes, also where an earlier deletion was
// broken off. A link stands for whoever reads the disk.
func TestDeleteOverwritesKeys(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	f, err := blob.OpenFolder(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("thirty-two bytes that open a lot")
	names := []string{"shelf/1", "shelf/of/2", "shelf/.3"}
	for i, name := range names {
		path := filepath.Join(dir, "keys", filepath.FromSlash(name))
		if blob.IsName(name) {
			err = f.Put(t.Context(), name, key)
		} else {
			err = os.WriteFile(path, key, 0o600)
		}
		if err := errors.Join(err, os.Link(path, filepath.Join(outside, strconv.Itoa(i)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Delete(t.Context(), "shelf"); err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if left, err := os.ReadFile(filepath.Join(outside, strconv.Itoa(i))); err != nil || !bytes.Equal(left, make([]byte, len(key))) {
			t.Errorf("%s: %q is left, %v", name, left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "keys", "shelf")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
