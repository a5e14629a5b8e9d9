package kde

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/datatest"
)

// Descriptions of things, as vectors of latent directions of others' descriptions, lie near to the mean of
// their class: 0.927 by all words of the training file, says the README of the data.
func TestTextsAreVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fits directions of 12,000 texts")
	}
	dir := datatest.Folder(t, "dbpedia14")
	load := withTexts(experiments.Data{Texts: func(name string) (*dataset.Texts, error) { return dataset.LoadTexts(dir, name) }})
	set, err := load("dbpedia14")
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Classes) != 14 || set.Dimension() != textDimensions || set.Train.Len() < 25_000 || set.Test.Len() < 3_900 || len(set.Checksum) != 64 {
		t.Fatalf("%s, %q", set, set.Checksum)
	}
	means := blas32.General{Rows: 14, Cols: set.Dimension(), Stride: set.Dimension(), Data: make([]float32, 14*set.Dimension())}
	counts := set.Train.Counts(14)
	for i, y := range set.Train.Y {
		length := 0.0
		for j, v := range row(set.Train.X, i) {
			means.Data[y*means.Stride+j] += v / float32(counts[y])
			length += float64(v) * float64(v)
		}
		if math.Abs(length-1) > 1e-5 {
			t.Fatalf("row %d has length %v", i, math.Sqrt(length))
		}
	}
	scores := blas32.General{Rows: set.Test.Len(), Cols: 14, Stride: 14, Data: make([]float32, set.Test.Len()*14)}
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, set.Test.X, means, 0, scores)
	right := 0
	for i, y := range set.Test.Y {
		best := 0
		for c, v := range row(scores, i) {
			if v > row(scores, i)[best] {
				best = c
			}
		}
		if best == y {
			right++
		}
	}
	got := float64(right) / float64(set.Test.Len())
	if t.Logf("accuracy of inner products with means: %.3f", got); got < 0.85 {
		t.Errorf("accuracy %.3f, want 0.85", got)
	}
}
