package training

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/nn"
)

// The training of networks was chosen on labels of drawn images. It is the same for every data set.
const (
	hidden      = 128
	epochs      = 4
	batch       = 128
	rate        = 1e-3
	length      = 10  // mean length of the examples of a network
	fewestSteps = 500 // few examples have more epochs for it
)

// Scale turns features into a network's examples. It takes off the mean of public ones, and multiplies by the
// factor that gives these a mean length of ten.
type Scale struct {
	Mean []float32
	By   float32
}

// NewScale returns the scale of public rows.
func NewScale(x blas32.General) Scale {
	s, squares := Scale{Mean: make([]float32, x.Cols)}, 0.0
	sums := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			sums[j] += float64(v)
			squares += float64(v) * float64(v)
		}
	}
	squares /= float64(x.Rows)
	for j, v := range sums {
		mean := v / float64(x.Rows)
		squares -= mean * mean
		s.Mean[j] = float32(mean)
	}
	s.By = 1
	if squares > 0 {
		s.By = float32(length / math.Sqrt(squares))
	}
	return s
}

// Examples returns rows in this scale.
func (s Scale) Examples(x blas32.General) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	for i := range x.Rows {
		row := out.Data[i*x.Cols:][:x.Cols]
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			row[j] = (v - s.Mean[j]) * s.By
		}
	}
	return out
}

// Into makes a network that learned from examples in this scale take the rows themselves. Its
// first layer is dense.
func (s Scale) Into(m *nn.Model) error {
	first, ok := m.Layers[0].(nn.Dense)
	if !ok || first.In != len(s.Mean) {
		return fmt.Errorf("training: a network that does not begin with a dense layer of %d numbers", len(s.Mean))
	}
	weights, offset := m.Params[:first.In*first.Out], m.Params[first.In*first.Out:][:first.Out]
	for i, mean := range s.Mean {
		for k := range first.Out {
			w := &weights[i*first.Out+k]
			*w *= s.By
			offset[k] -= *w * mean
		}
	}
	return nil
}

// Posterior returns how likely each label is in a cluster of so many respondents, more than none: the
// shares nearest to the estimates that could be true.
func Posterior(counts []estimate.Value, respondents float64) ([]float64, error) {
	shares, err := estimate.Project(counts, respondents)
	if err != nil {
		return nil, err
	}
	for i := range shares {
		shares[i] /= respondents
	}
	return shares, nil
}

// FromClusters learns from the posteriors of clusters: each example counts with those of the
// cluster that it is of. A cluster without a posterior (nil) was withheld, and its examples
// are left out.
func FromClusters(r *rand.Rand, x blas32.General, of []int, posteriors [][]float64, classes int, tell func(stage string, done, total int)) (*nn.Model, error) {
	var targets []float32
	known := x
	known.Rows, known.Stride, known.Data = 0, x.Cols, nil
	for i, c := range of {
		if posteriors[c] == nil {
			continue
		}
		known.Rows++
		known.Data = append(known.Data, x.Data[i*x.Stride:][:x.Cols]...)
		for _, p := range posteriors[c] {
			targets = append(targets, float32(p))
		}
	}
	if known.Rows == 0 {
		return nil, fmt.Errorf("training: nothing is known of any cluster")
	}
	return train(r, known, targets, classes, nn.CrossEntropy, tell)
}

// Through learns from labels, one for each example, that went through k-ary response
// of a local epsilon: by how likely each report is for each label.
func Through(r *rand.Rand, x blas32.General, reported []int, epsilon float64, classes int, tell func(stage string, done, total int)) (*nn.Model, error) {
	response, likely := randomize.KRR{K: classes, Epsilon: epsilon}, make([]float32, 0, len(reported)*classes)
	for _, y := range reported {
		for c := range classes {
			likely = append(likely, float32(response.Prob(y, c)))
		}
	}
	return train(r, x, likely, classes, nn.Likelihood, tell)
}

// Known learns from labels that are no secret.
func Known(r *rand.Rand, x blas32.General, y []int, classes int, tell func(stage string, done, total int)) (*nn.Model, error) {
	return train(r, x, OneHot(y, classes), classes, nn.CrossEntropy, tell)
}

func train(r *rand.Rand, x blas32.General, targets []float32, classes int, loss func(scores, targets, dy []float32, classes int) float64, tell func(stage string, done, total int)) (*nn.Model, error) {
	return Fit(r, x, targets, classes, Schedule(x.Rows, epochs, loss), tell)
}

// Schedule returns the training of so many examples for at least so many epochs.
func Schedule(examples, epochs int, loss func(scores, targets, dy []float32, classes int) float64) Training {
	size := min(batch, examples)
	return Training{Hidden: hidden, Epochs: max(epochs, fewestSteps*size/examples), Batch: size, Rate: rate, Loss: loss}
}
