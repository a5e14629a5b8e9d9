package issuer

import (
	"os"
	"testing"
)

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
