// Package training trains networks on public features and on targets that somebody else has protected. Used by
// internal/learn/latent, internal/learn/fitted and the lab.
package training

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/nn"
)

// Training sets how Fit trains a network: by Adam, whose steps shrink to nothing along a cosine.
type Training struct {
	Hidden int     // numbers between features and scores; 0: a linear model
	Epochs int     // >= 1
	Batch  int     // examples of a step, >= 1
	Rate   float64 // of the first step, > 0
	Decay  float64 // what each step takes off the numbers, in parts of them and of the rate, >= 0
	// Loss is of scores and targets, as nn.CrossEntropy and nn.Likelihood are.
	Loss func(scores, targets, dy []float32, classes int) float64
}

func (t Training) check(x blas32.General, targets []float32, classes int) error {
	switch {
	case t.Hidden < 0 || t.Epochs < 1 || t.Batch < 1 || !(t.Rate > 0) || !(t.Decay >= 0) || t.Loss == nil:
		return fmt.Errorf("training: hidden %d, epochs %d, batch %d, rate %v, decay %v: give positive numbers and a loss", t.Hidden, t.Epochs, t.Batch, t.Rate, t.Decay)
	case x.Rows < 1 || classes < 2 || len(targets) != x.Rows*classes:
		return fmt.Errorf("training: %d targets of %d examples with %d classes", len(targets), x.Rows, classes)
	}
	return nil
}

// Fit trains a network that scores classes: a row of targets for each row of features, whose
// meaning is the loss's. It draws first weights and the order of examples.
func Fit(r *rand.Rand, x blas32.General, targets []float32, classes int, t Training, tell func(stage string, done, total int)) (*nn.Model, error) {
	if err := t.check(x, targets, classes); err != nil {
		return nil, err
	}
	m, err := nn.New(r, t.layers(x.Cols, classes)...)
	if err != nil {
		return nil, err
	}
	pass, adam, sum := nn.NewPass(m), nn.Adam{Rate: t.Rate}, make([]float32, len(m.Params))
	batches := (x.Rows + t.Batch - 1) / t.Batch
	var rows, likes, dy []float32
	for step := range t.Epochs * batches {
		if step%batches == 0 {
			tell("epochs", step/batches, t.Epochs)
		}
		rows, likes = rows[:0], likes[:0]
		for range t.Batch { // with replacement
			i := r.IntN(x.Rows)
			rows = append(rows, x.Data[i*x.Stride:][:x.Cols]...)
			likes = append(likes, targets[i*classes:][:classes]...)
		}
		scores := pass.Forward(rows, t.Batch)
		if dy == nil {
			dy = make([]float32, len(scores))
		}
		t.Loss(scores, likes, dy, classes)
		for i := range dy {
			dy[i] /= float32(t.Batch)
		}
		pass.Backward(dy)
		clear(sum)
		pass.Gradient(sum)
		adam.Rate = t.Rate * (1 + math.Cos(math.Pi*float64(step)/float64(t.Epochs*batches))) / 2
		if shrink := float32(1 - adam.Rate*t.Decay); shrink != 1 {
			for i := range m.Params {
				m.Params[i] *= shrink
			}
		}
		adam.Step(m.Params, sum)
	}
	return m, nil
}

func (t Training) layers(in, classes int) []nn.Layer {
	if t.Hidden == 0 {
		return []nn.Layer{nn.Dense{In: in, Out: classes, Silent: true}}
	}
	return []nn.Layer{nn.Dense{In: in, Out: t.Hidden}, nn.ReLU{Size: t.Hidden}, nn.Dense{In: t.Hidden, Out: classes}}
}

// OneHot returns the targets of labels that are known.
func OneHot(labels []int, classes int) []float32 {
	targets := make([]float32, len(labels)*classes)
	for i, y := range labels {
		targets[i*classes+y] = 1
	}
	return targets
}

// Accuracy returns the share of rows whose class a model finds.
func Accuracy(m *nn.Model, x blas32.General, labels []int) float64 {
	right := 0
	for i, c := range nn.Classify(m, func(i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }, x.Rows) {
		if c == labels[i] {
			right++
		}
	}
	return float64(right) / float64(max(1, len(labels)))
}
