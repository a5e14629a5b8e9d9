package blob_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/blob"
	"github.com/confetti-dp/confetti/internal/blob/blobtest"
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
