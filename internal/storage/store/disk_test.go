package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A disk that takes nothing, or has refused a write as full, is not ready.
func TestAFailedDiskIsNotReady(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{DSN: filepath.Join(folder, "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Rename(folder, folder+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "fails") {
		t.Errorf("ready without a disk: %v", err)
	}
	if err := os.Rename(folder+".gone", folder); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), Config{DSN: filepath.Join(folder, "b.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	full := errors.Join(ErrFull)
	again.refused.Store(&full)
	if err := again.Ready(t.Context()); !errors.Is(err, ErrFull) {
		t.Errorf("ready on a full disk: %v", err)
	}
	register(t, again, samplePlan("aa"))
	if err := again.Ready(t.Context()); err != nil {
		t.Errorf("it takes writes again: %v", err)
	}
}
