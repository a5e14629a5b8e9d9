package moments

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
)

// Descent improves a classifier by rounds of gradients of the logistic loss.
type Descent struct {
	features.Point             // where it stands; M = (covariance + lambda)^-1/2
	Passed         [][]float64 // weights after each round
}

const (
	stepSize = 2.5 // times the dimension
	startUp  = 4   // times the least-squares classifier, whose scores are too small for the loss
)

// NewDescent starts at the classifier of the sums of n respondents: 4 s M X, X the
// covariance of features and classes, s^2 the mean of |M (psi - m)|^2.
func NewDescent(s features.Sums, n int) (*Descent, error) {
	c, err := newCentred(s, ofAll(s), n)
	if err != nil {
		return nil, err
	}
	d, classes := c.cross.Dims()
	m := c.power(0.5)
	descent := &Descent{Point: features.Point{Shape: features.Shape{Dimension: d, Classes: classes}, Mean: make([]float32, d),
		Whiten: blas32.General{Rows: d, Cols: d, Stride: d, Data: make([]float32, d*d)}}}
	for i := range d {
		descent.Mean[i] = float32(c.mean.AtVec(i))
		for j := range d {
			descent.Whiten.Data[i*d+j] = float32(m.At(i, j))
		}
	}
	squares := 0.0
	for _, v := range c.values {
		squares += v / (v + c.ridge)
	}
	var weights mat.Dense
	weights.Mul(m, c.cross)
	weights.Scale(startUp*math.Sqrt(squares), &weights)
	descent.Weights = weights.RawMatrix().Data
	return descent, nil
}

// NewGradients starts at zero, in features that are white as they are.
func NewGradients(s features.Shape) *Descent {
	return &Descent{Point: features.Point{Shape: s, Weights: make([]float64, s.GradientLen())}}
}

// Step goes down the mean gradient of n respondents, from the sum of their messages.
func (d *Descent) Step(sum []float64, n int) error {
	if len(sum) != d.GradientLen() || n < 1 {
		return fmt.Errorf("moments: a gradient of %d numbers over %d respondents, want %d numbers", len(sum), n, d.GradientLen())
	}
	next := make([]float64, len(d.Weights))
	rate := stepSize * float64(d.Dimension) * features.ErrorCut / float64(n)
	for i := range d.Dimension {
		for k := range d.Classes {
			next[i*d.Classes+k] = d.Weights[i*d.Classes+k] - rate*sum[k*d.Dimension+i]
		}
	}
	d.Weights = next
	d.Passed = append(d.Passed, next)
	return nil
}

// Classifier is of phi: the mean of the weights after the last half of the rounds,
// rounded up, and those at the start if there were none.
func (d *Descent) Classifier() Linear {
	l := Linear{Weights: mat.NewDense(d.Dimension, d.Classes, append([]float64(nil), d.Weights...)), Offset: make([]float64, d.Classes)}
	if last := d.Passed[len(d.Passed)/2:]; len(last) > 0 {
		l.Weights.Zero()
		for _, w := range last {
			l.Weights.Add(l.Weights, mat.NewDense(d.Dimension, d.Classes, w))
		}
		l.Weights.Scale(1/float64(len(last)), l.Weights)
	}
	return l
}
