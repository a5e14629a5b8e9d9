package issuer

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/storage/keep"
)

// locked is a store that lets nobody in, and says why.
type locked struct{ keep.Store }

func (locked) Open(context.Context, string) (keep.Shelf, error) {
	return nil, fmt.Errorf("%w: look at the password", keep.ErrUnavailable)
}

func (locked) Close() error { return nil }

// Whoever starts an issuer is told why its store does not open, and not what a respondent is told.
func TestAStartSaysWhyItsStoreDoesNotOpen(t *testing.T) {
	o := newWorld(t).options
	o.Store = locked{}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "look at the password") {
		t.Errorf("a store that lets nobody in: %v", err)
	}
}

// A disk that takes nothing is seen before somebody asks for a token in vain.
func TestAFailedDiskIsNotReady(t *testing.T) {
	w := newWorld(t)
	if err := w.service.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := os.Rename(w.options.Folder, w.options.Folder+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := w.service.Ready(t.Context()); err == nil {
		t.Error("ready without a disk")
	}
}
