package dataset

import (
	"os"
	"path/filepath"
	"testing"
)

// A set's checksum is that of what sha256sum prints of its files, and another as soon as a byte is.
func TestChecksumsTellDataApart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.txt", "two")
	write("a.txt", "one")
	got, err := Checksum(dir)
	// (cd DIR; sha256sum a.txt b.txt) | sha256sum
	if want := "408e5b7a92221a051491158c0d15a8d6594bb09115cf53e0a1359e7a05321f40"; err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if linked, err := Checksum(link); err != nil || linked != got {
		t.Errorf("by a link %s %v", linked, err)
	}
	write("b.txt", "twp")
	if other, err := Checksum(dir); err != nil || other == got {
		t.Error("another byte, the same checksum", err)
	}
	if _, err := Checksum(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there has a checksum")
	}
}
