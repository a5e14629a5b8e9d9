package encode

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// The golden vectors are what Python computes from docs/wire-randomness.md.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/v1/*.json")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	files = append(files, "../sketch/testdata/vectors/v1/sketch.json")
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`(?s)"(?:features|channels|cells|bound)": \[?[^]]*?([0-9])`), files...)
}
