package kde

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/testkit/datatest"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// Descriptions of things, as vectors of latent directions of others' descriptions, lie near to the mean of
// their class: 0.927 by all words of the training file, says the README of the data.
func TestTextsAreVectors(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fits directions of 12,000 texts")
	}
	dir := datatest.Folder(t, "dbpedia14")
	load := withTexts(experiments.Data{Texts: func(name string) (*datasets.Texts, error) { return datasets.LoadTexts(dir, name) }})
	set, err := load("dbpedia14")
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Classes) != 14 || set.Dimension() != textDimensions || set.Train.Len() < 25_000 || set.Test.Len() < 3_900 || len(set.Checksum) != 64 {
		t.Fatalf("%s, %q", set, set.Checksum)
	}
	for i := range set.Train.Y {
		length := 0.0
		for _, v := range row(set.Train.X, i) {
			length += float64(v) * float64(v)
		}
		if math.Abs(length-1) > 1e-5 {
			t.Fatalf("row %d has length %v", i, math.Sqrt(length))
		}
	}
	got := nearMeans(set)
	if t.Logf("accuracy of inner products with means: %.3f", got); got < 0.85 {
		t.Errorf("accuracy %.3f, want 0.85", got)
	}
}

// Texts by the means of their words' vectors say what they are about, and so do words.
func TestTextsAreMeansOfWords(t *testing.T) {
	datatest.Folder(t, "agnews_csv")
	dir := datatest.Folder(t, "glove")
	load := withTexts(experiments.Data{
		Texts: func(name string) (*datasets.Texts, error) { return datasets.LoadTexts(dir, name) },
		Words: func() (*datasets.WordVectors, error) { return datasets.LoadWordVectors(dir) },
	})
	set, err := load("agnews_glove")
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Classes) != 4 || set.Dimension() != 25 || set.Train.Len() < 39_000 || set.Train.Len() != set.Train.X.Rows || set.Test.Len() < 7_500 || len(set.Words) != 11_925 || set.WordX.Rows != len(set.Words) || len(set.Checksum) != 64 {
		t.Fatalf("%s, %q", set, set.Checksum)
	}
	got := nearMeans(set)
	if t.Logf("accuracy of inner products with means: %.3f", got); got < 0.6 {
		t.Errorf("accuracy %.3f, want 0.6", got)
	}
}

// nearMeans is the accuracy of the class whose mean has the largest inner product with a record.
func nearMeans(set *dataset.Set) float64 {
	classes := len(set.Classes)
	means := blas32.General{Rows: classes, Cols: set.Dimension(), Stride: set.Dimension(), Data: make([]float32, classes*set.Dimension())}
	counts := set.Train.Counts(classes)
	for i, y := range set.Train.Y {
		for j, v := range row(set.Train.X, i) {
			means.Data[y*means.Stride+j] += v / float32(counts[y])
		}
	}
	scores := blas32.General{Rows: set.Test.Len(), Cols: classes, Stride: classes, Data: make([]float32, set.Test.Len()*classes)}
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
	return float64(right) / float64(set.Test.Len())
}
