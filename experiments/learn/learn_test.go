package learn

import (
	"math"
	"testing"
)

func quiet(string, int, int) {}

func run(t *testing.T, s Setting) Result {
	t.Helper()
	if s.Dataset == "" {
		s.Dataset = "synthetic"
	}
	if s.Takes == "" {
		s.Takes = TakesAll
	}
	s.Bits, s.Epsilon, s.Delta, s.Seed = 1024, 4, 1e-5, 1
	r, _, err := Run(s, "", quiet)
	if err != nil {
		t.Fatal(err)
	}
	if !(r.Epsilon <= s.Epsilon && r.Epsilon > 0.99*s.Epsilon) || math.Abs(r.NoiseRatio-1) > 0.05 {
		t.Errorf("epsilon %v of %v, error %v of the formula's", r.Epsilon, s.Epsilon, r.NoiseRatio)
	}
	return r
}

// One round, and rounds of which each device answers one, on drawn images: a classifier far
// better than chance, not better than a curator's by more than chance, and devices that answer
// as many bits as was asked.
func TestSyntheticImages(t *testing.T) {
	one := run(t, Setting{Rounds: 1})
	if a := one.Accuracies; a.Accuracy < 0.7 || a.Central < a.Accuracy-0.03 || a.NoPrivacy < a.Central-0.03 || one.BitsPerDevice != 1024 {
		t.Errorf("one round: %+v, %d bits", a, one.BitsPerDevice)
	}
}
