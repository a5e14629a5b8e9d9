package training

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/nn"
)

const classes, dimension = 3, 6

// drawn are examples about a corner for each class.
func drawn(r *rand.Rand, n int, spread float64) (x blas32.General, y []int) {
	x = blas32.General{Rows: n, Cols: dimension, Stride: dimension}
	for i := range n {
		y = append(y, i%classes)
		for j := range dimension {
			v := spread * r.NormFloat64()
			if j%classes == y[i] {
				v += 2
			}
			x.Data = append(x.Data, float32(v))
		}
	}
	return x, y
}

// Shares that could be true are nearest to the counts.
func TestPosterior(t *testing.T) {
	got, err := Posterior([]estimate.Value{{Mean: 110, StdErr: 5}, {Mean: -10, StdErr: 5}, {Mean: 10, StdErr: 5}}, 100)
	if err != nil || math.Abs(got[0]-1) > 1e-9 || got[1] != 0 || got[2] > 1e-9 {
		t.Errorf("%v, %v", got, err)
	}
}

// A network that learned in a scale takes the rows themselves once the scale is in it.
func TestAScaleGoesIntoItsNetwork(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	x, y := drawn(r, 300, 1)
	for i := range x.Data {
		x.Data[i] += 7
	}
	s := NewScale(x)
	examples := s.Examples(x)
	m, err := Known(r, examples, y, classes, quiet)
	if err != nil {
		t.Fatal(err)
	}
	within := m.Clone()
	if err := s.Into(within); err != nil {
		t.Fatal(err)
	}
	want, got := nn.NewPass(m).Forward(examples.Data, x.Rows), nn.NewPass(within).Forward(x.Data, x.Rows)
	for i := range want {
		if math.Abs(float64(want[i]-got[i])) > 1e-3*(1+math.Abs(float64(want[i]))) {
			t.Fatalf("score %d is %v, want %v", i, got[i], want[i])
		}
	}
	if err := (Scale{Mean: []float32{1}}).Into(within); err == nil {
		t.Error("a scale of other features is taken")
	}
}
