package linked

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder that was moved would be looked for in vain, and nobody would notice.
func TestWhatReadsIsThere(t *testing.T) {
	for _, folder := range reading {
		if _, err := os.Stat(filepath.Join("..", "..", "..", "..", filepath.FromSlash(folder))); err != nil {
			t.Error(err)
		}
	}
}

func TestReadersAreFound(t *testing.T) {
	if got := Readers([]string{"plan", "question/histogram", "questionable", "internal/dp/noise", "internal/dp/tally"}); len(got) != 2 {
		t.Errorf("%v", got)
	}
}
