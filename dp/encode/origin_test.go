package encode

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The golden vectors are what Python computes from docs/wire.md, with its standard
// library alone; one in which a digit was changed is not.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	python, err := exec.LookPath(cmp.Or(os.Getenv("PYTHON"), "python3"))
	if err != nil {
		t.Skip("there is no Python here: set PYTHON to one")
	}
	const origin = "testdata/vectors/origin.py"
	files := []string{"../sketch/testdata/vectors/v1/sketch.json"}
	for _, name := range []string{"features", "paired", "rotated", "hashed", "cells"} {
		files = append(files, "testdata/vectors/v1/"+name+".json")
	}
	if out, err := exec.Command(python, append([]string{origin}, files...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%.2000s", err, out)
	}
	digit := regexp.MustCompile(`(?s)"(features|channels|cells|bound)": \[?[^]]*?([0-9])`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := digit.FindSubmatchIndex(text)[4]
		twin := bytes.Clone(text)
		twin[at] = '0' + (twin[at]-'0'+1)%10
		changed := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(changed, twin, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(python, origin, changed).CombinedOutput(); err == nil {
			t.Errorf("a digit of %s was changed, and nobody noticed: %s", file, out)
		}
	}
}
