package page

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range entries {
		ns = append(ns, e.Name())
	}
	return ns
}

var complete = []string{"density.png", "density.svg", "error-by-devices.png", "error-by-devices.svg", "recall.png", "recall.svg", PageFile, JSONFile}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for _, command := range []string{"first", "second"} { // the second takes the place of the first
		want := sample(t)
		want.Provenance.Command = command
		if err := Save(dir, want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(complete, names(t, dir)); d != "" {
			t.Error(d)
		}
		var stored, again bytes.Buffer
		if err := errors.Join(want.WriteJSON(&stored), opened(t, dir).WriteJSON(&again)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(stored.String(), again.String()); d != "" {
			t.Error(d)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, PageFile)); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the page cannot be read by all: %v, %v", info.Mode(), err)
	}
}

func TestSaveRefusesBeforeTouchingTheDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	r := sample(t)
	r.Guarantees = nil
	if err := Save(dir, r); err == nil {
		t.Error("saved without a guarantee")
	}
	r = sample(t)
	r.Sections[0].Figures[0].Series[0].Y[0] = 1e300 // valid, but no axis can hold it
	r.Sections[0].Figures[0].Series[0].High[0] = 1e300
	if err := Save(dir, r); err == nil || !strings.Contains(err.Error(), "cannot be drawn") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}

// A name that is taken by a folder fails the last step, when some files already have theirs.
func TestSaveTakesBackWhatItRenamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "recall.svg", "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := Save(dir, sample(t))
	if err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("got %v", err)
	}
	if d := cmp.Diff([]string{"recall.svg"}, names(t, dir)); d != "" {
		t.Error(d)
	}
}

func TestSaveIntoAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		if err := Save(dir, sample(t)); err == nil {
			t.Errorf("saved in %s", dir)
		}
	}
	if data, _ := os.ReadFile(path); string(data) != "mine" {
		t.Error("the file was touched")
	}
}
