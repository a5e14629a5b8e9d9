package encode

import (
	"regexp"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// The golden vectors are what Python computes from docs/wire-randomness.md.
func TestVectorsHaveASecondOrigin(t *testing.T) {
	files := []string{"../sketch/testdata/vectors/v1/sketch.json"}
	for _, name := range []string{"features", "paired", "projected", "rotated", "hashed", "cells"} {
		files = append(files, "testdata/vectors/v1/"+name+".json")
	}
	crosscheck.Check(t, "testdata/vectors/origin.py", regexp.MustCompile(`(?s)"(?:features|channels|cells|bound)": \[?[^]]*?([0-9])`), files...)
}
