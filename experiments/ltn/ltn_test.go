package ltn

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/stattest"
)

// quarters are pictures with a bar in one of four directions, and noise.
func quarters(r *rand.Rand, n int) dataset.Labelled {
	const side = 16
	out := dataset.Labelled{X: blas32.General{Rows: n, Cols: side * side, Stride: side * side}}
	for i := range n {
		y, shift := i%4, 2*r.Float64()-1
		sin, cos := math.Sincos(float64(y) * math.Pi / 4)
		for p := range side * side {
			u, v := float64(p%side)-7.5, float64(p/side)-7.5
			x := 0.05 * r.Float64()
			if math.Abs(u*sin-v*cos-shift) < 1.5 {
				x = 0.9
			}
			out.X.Data = append(out.X.Data, float32(x))
		}
		out.Y = append(out.Y, y)
	}
	return out
}

// From symbols alone a net tells the bars apart, and two groups show which of them is new; a
// cell's result says what it cost.
func TestLearningFromSymbols(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	for application, least := range map[string]float64{collection: 0.9, novel: 0.7} {
		res, err := Run(Cell{Application: application, Mechanism: "symbols", Epsilon: 6, Seed: 3}, set, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", application, res)
		if res.AccuracyClean < least || res.EpsilonLocal != 6 || !(res.EpsilonCentral > 0 && res.EpsilonCentral <= 6) || res.Clusters < 20 {
			t.Errorf("%s: %+v", application, res)
		}
	}
	if _, err := Run(Cell{Application: collection, Mechanism: "symbols", Epsilon: 6}, &dataset.Set{Train: dataset.Labelled{X: blas32.General{Cols: 10}}}, nil); err == nil {
		t.Error("what is no picture was taken")
	}
}

// Vectors teach too, and an encoder that is kept serves the cells of its own seed and no others.
func TestLearningFromVectors(t *testing.T) {
	r := stattest.Rand(t)
	set := &dataset.Set{Name: "bars", Classes: []string{"a", "b", "c", "d"}, Train: quarters(r, 1600), Test: quarters(r, 200)}
	file := filepath.Join(t.TempDir(), "encoder.json")
	for _, c := range []Cell{{Mechanism: "vlm", Encoder: file}, {Mechanism: privUnit, Encoder: file}, {Mechanism: "pca"}} {
		c.Application, c.Epsilon, c.Seed = collection, 20, 3
		res, err := Run(c, set, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", res)
		if res.AccuracyClean < 0.5 || res.AccuracyLatent < 0.4 || res.AccuracyNoPrivacy == 0 || (res.AccuracyPaper == nil) != (c.Mechanism == privUnit) || math.Abs(res.EpsilonLocal-20) > 1e-9 {
			t.Errorf("%s: %+v", c.Mechanism, res)
		}
	}
	if _, err := Run(Cell{Application: collection, Mechanism: "vlm", Epsilon: 20, Seed: 4, Encoder: file}, set, func(string, int, int) {}); err == nil {
		t.Error("the encoder of another seed is taken")
	}
}

// Loans are standardized by public ones, half of them of each class in both parts.
func TestColumnsOfLoans(t *testing.T) {
	set := &dataset.Set{Name: LoansName, Classes: []string{"paid", "charged off"}}
	r := stattest.Rand(t)
	draw := func(n int) (l dataset.Labelled) {
		l.X = blas32.General{Rows: n, Cols: 2, Stride: 2}
		for i := range n {
			l.Y = append(l.Y, i%2)
			l.X.Data = append(l.X.Data, float32(1000*(i%2))+float32(r.NormFloat64()), float32(r.NormFloat64()))
		}
		return l
	}
	set.Train, set.Test = draw(2000), draw(400)
	res, err := Run(Cell{Application: collection, Mechanism: symbols, Epsilon: 4, Seed: 2}, set, func(string, int, int) {})
	if err != nil || res.AccuracyClean < 0.9 || res.Respondents != 450 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := Run(Cell{Application: novel, Mechanism: symbols, Epsilon: 4}, set, nil); err == nil {
		t.Error("a novel class of loans is measured")
	}
}
