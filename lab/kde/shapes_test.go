package kde

import (
	"math"
	"slices"
	"testing"
)

func TestShapes(t *testing.T) {
	small := shape{classes: 3, perClass: 400, dimension: 64, norm: 0.6, test: 2}
	rec, again := small.records("small", 5), small.records("small", 5)
	mean := make([]float64, small.dimension)
	for i := range rec.Train.Y {
		x := rec.row(i)
		length := 0.0
		for j, v := range x {
			length += float64(v) * float64(v)
			if rec.Train.Y[i] == 1 {
				mean[j] += float64(v) / float64(small.perClass)
			}
		}
		if math.Abs(length-1) > 1e-5 {
			t.Fatalf("row %d has squared length %v", i, length)
		}
		if !slices.Equal(x, again.row(i)) {
			t.Fatalf("row %d differs between two of the same seed", i)
		}
	}
	norm := 0.0
	for _, m := range mean {
		norm += m * m
	}
	// Scaling to length one and the mean of 400 move it by a few percent.
	if got := math.Sqrt(norm); math.Abs(got-small.norm) > 0.05 {
		t.Errorf("mean of norm %v, want %v", got, small.norm)
	}
	if n := rec.Train.Counts(3); n[0] != 400 || n[1] != 400 || n[2] != 400 {
		t.Errorf("classes of %v", n)
	}
	if rec.Test.Len() != 6 || rec.Dimension() != 64 || !rec.Synthetic {
		t.Errorf("%v", rec)
	}
}
