package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/lab/train/cluster"
)

// paper tries the training of the paper's models, which see principal components of pixels: by the
// modified loss, whose weights may be below zero, by the likelihood of reports, and by labels.
func (p people) paper() error {
	directions, x, err := cluster.Directions(p.pixels, 50)
	if err != nil {
		return err
	}
	test := directions.Project(dataset.Copied(p.others))
	square := 0.0
	for _, v := range x.Data {
		square += float64(v) * float64(v) / float64(len(x.Data))
	}
	for _, of := range []blas32.General{x, test} {
		for i := range of.Data {
			of.Data[i] /= float32(math.Sqrt(square))
		}
	}
	try := func(name string, targets []float32, how training.Training) error {
		m, err := training.Fit(seeded.New(p.seed, 9), x, targets, classes, how, quiet)
		if err == nil {
			fmt.Printf("%-24s epochs %-2d rate %-5v decay %-4v  %.4f\n", name, how.Epochs, how.Rate, how.Decay, training.Accuracy(m, test, p.want))
		}
		return err
	}
	for _, epsilon := range []float64{0.25, 0.5, 1} {
		modified := labeldp.Uniform(classes, epsilon).Relabel(seeded.New(p.seed, 10), p.y, make([]int, len(p.y)))
		response, r, likely := randomize.KRR{K: classes, Epsilon: epsilon}, seeded.New(p.seed, 11), make([]float32, 0, len(p.y)*classes)
		for _, y := range p.y {
			reported := response.Randomize(r, y)
			for class := range classes {
				likely = append(likely, float32(response.Prob(class, reported)))
			}
		}
		for _, how := range trainings {
			how.Loss = nn.CrossEntropy
			if err := try(fmt.Sprint("modified loss, ", epsilon), modified, how); err != nil {
				return err
			}
			how.Loss = nn.Likelihood
			if err := try(fmt.Sprint("likelihood, ", epsilon), likely, how); err != nil {
				return err
			}
		}
	}
	for _, how := range trainings {
		how.Loss = nn.CrossEntropy
		if err := try("labels", training.OneHot(p.y, classes), how); err != nil {
			return err
		}
	}
	return nil
}

// trainings of regression.
var trainings = []training.Training{
	{Epochs: 8, Batch: 500, Rate: 0.005, Decay: 0.1}, {Epochs: 8, Batch: 500, Rate: 0.01, Decay: 0.1}, {Epochs: 8, Batch: 500, Rate: 0.02, Decay: 0.1},
	{Epochs: 8, Batch: 500, Rate: 0.02, Decay: 0.3}, {Epochs: 8, Batch: 500, Rate: 0.02, Decay: 1}, {Epochs: 8, Batch: 500, Rate: 0.005, Decay: 1}, {Epochs: 3, Batch: 500, Rate: 0.01, Decay: 0.1},
}
