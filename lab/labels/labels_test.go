package labels

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
)

// drawn are points about a centre for each of three classes.
func drawn(r *rand.Rand, n int) dataset.Labelled {
	const d = 8
	l := dataset.Labelled{X: blas32.General{Rows: n, Cols: d, Stride: d}}
	for i := range n {
		y := i % 3
		for j := range d {
			x := 0.3 * r.NormFloat64()
			if j == y {
				x++
			}
			l.X.Data = append(l.X.Data, float32(x))
		}
		l.Y = append(l.Y, y)
	}
	return l
}

// Every way of ours learns labels from what devices say of them, and promises what was asked:
// of the label, and through the shuffler or alone.
func TestLabelsAreLearned(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	set := &dataset.Set{Name: "drawn", Classes: []string{"a", "b", "c"}, Train: drawn(r, 3000), Test: drawn(r, 600)}
	for method, local := range map[string]bool{"crowds": false, "xy": false, "rr": true} {
		got, err := Run(Cell{Dataset: "drawn", Method: method, Epsilon: 1, Delta: 1e-6, Seed: 3}, set, func(string, int, int) {})
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		if got.Accuracy < 0.85 || got.Adjacency != "label" || got.Central == nil || *got.Central > 1 || len(got.Wrong) != 3 {
			t.Errorf("%s: %+v", method, got)
		}
		if local && (got.Local == nil || *got.Local > 1 || got.Trust != "local") {
			t.Errorf("%s relies on %s: %v", method, got.Trust, got.Local)
		}
	}
	if _, err := Run(Cell{Method: "guess", Epsilon: -1, Delta: 2}, set, nil); err == nil {
		t.Error("a cell that asks for nothing is taken")
	}
}
