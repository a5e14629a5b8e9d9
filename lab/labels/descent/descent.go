// Package descent learns from sums of public features by private labels: a label adds to one noisy sum, and all else
// of the gradient is public. Used by lab/labels and lab/labels/settle.
package descent

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/kernel"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/lab/train/labels"
)

// Directions are as many as features are summed in: principal ones of public features, each
// divided by the fourth root of its eigenvalue (plus Regular times the mean).
const (
	Directions = 100
	Regular    = 0.01
)

const (
	momentum = 0.7
	stepSize = 0.6
)

// ClassSums returns the sums of the features of each class, a row for each feature, from that of
// class messages (features.Shape.ClassMessage) and the public features themselves; and the error
// of each, given that of the messages' sum.
func ClassSums(s features.Shape, sum []float64, err float64, x blas32.General) ([]float64, float64, error) {
	if len(sum) != s.ClassLen() || x.Cols != s.Dimension {
		return nil, 0, fmt.Errorf("descent: a sum of %d numbers and %d features, want %d and %d", len(sum), x.Cols, s.ClassLen(), s.Dimension)
	}
	k := float64(s.Classes)
	out := make([]float64, s.Dimension*s.Classes)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			out[j*s.Classes] += float64(v) / k
		}
	}
	for j := range s.Dimension {
		row := out[j*s.Classes:][:s.Classes]
		for class := range row {
			row[class] = row[0]
		}
	}
	for class := range s.Classes { // inner products of corners are 1 and -1/(K-1)
		for at, c := range s.Code(class) {
			for j := range s.Dimension {
				out[j*s.Classes+class] += (k - 1) / k * c * sum[at*s.Dimension+j]
			}
		}
	}
	return out, (k - 1) / k * err, nil
}

// FromSums is logistic regression on public features of length one at most, of whose labels the
// sums of the features of each class are known (a row for each feature), each with a standard
// error. All else that the loss's gradient is made of is public, so that any number of steps
// costs nothing: down the gradient, divided by the features' variances.
func FromSums(s labels.Settings, x blas32.General, sums []float64, err float64, classes int) (*nn.Model, error) {
	n, d := float64(x.Rows), x.Cols
	if len(sums) != d*classes || x.Rows < 1 {
		return nil, fmt.Errorf("descent: %d sums of %d features in %d classes", len(sums), d, classes)
	}
	ridge := s.Ridge * (err / n) * (err / n)
	rows := make([]float32, 0, x.Rows*d)
	squares := make([]float64, d)
	for i := range x.Rows {
		row := x.Data[i*x.Stride:][:d]
		rows = append(rows, row...)
		for j, v := range row {
			squares[j] += float64(v) * float64(v) / n
		}
	}
	turned, scores := make([]float32, len(rows)), make([]float32, x.Rows*classes)
	kernel.Transpose(turned, rows, x.Rows, d)
	weights, velocity, expected := make([]float32, d*classes), make([]float32, d*classes), make([]float32, d*classes)
	share := 1 / float64(classes)
	for range s.Steps {
		kernel.Gemm(scores, rows, weights, x.Rows, d, classes)
		nn.Softmax(scores, classes)
		kernel.Gemm(expected, turned, scores, d, x.Rows, classes)
		for j := range d {
			rate := stepSize / (share*(1-share)*squares[j] + ridge + math.SmallestNonzeroFloat32)
			for i := j * classes; i < (j+1)*classes; i++ {
				g := (float64(expected[i])-sums[i])/n + ridge*float64(weights[i])
				velocity[i] = momentum*velocity[i] - float32(rate*g)
				weights[i] += momentum*velocity[i] - float32(rate*g)
			}
		}
	}
	return &nn.Model{Layers: []nn.Layer{nn.Dense{In: d, Out: classes, Silent: true}}, Params: append(weights, make([]float32, classes)...)}, nil
}
