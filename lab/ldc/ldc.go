// Package ldc measures learning from private labels and public features as "Label differential privacy via
// clustering" (LDC) measured it. Used by lab/cmd/confetti-lab/experiment, lab/labels and lab/papers.
//
// Mechanisms of curators and of devices stand side by side, each with whom it trusts.
package ldc

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
	"github.com/confetti-dp/confetti/simulate"
)

// components are the principal ones of pixels that models see, and orientedComponents those of oriented gradients.
const components, orientedComponents = 50, 351

// task is a data set made ready: public features, and labels that are to be protected.
type task struct {
	set           *dataset.Set
	train, test   blas32.General // features, of mean square one
	labels, tests []int
	classes       int
	exact         float64 // accuracy without privacy
	clusters      map[[2]int][]int
	seed          uint64
	tell          featuremap.Progress
}

// prepare makes a set ready with features of pixels. They are public and those of the respondents themselves, so that
// components are too.
func prepare(set *dataset.Set, features string, seed uint64, tell simulate.Progress) (*task, error) {
	t := &task{set: set, classes: len(set.Classes), labels: set.Train.Y, tests: set.Test.Y, seed: seed, tell: featuremap.Progress(tell), clusters: map[[2]int][]int{}}
	tell("features", 0, 1)
	var err error
	switch t.train, t.test = dataset.Copied(set.Train.X), dataset.Copied(set.Test.X); features {
	case "":
		err = t.components(components)
	case experiments.OrientedGradients:
		side := inputs.Size{Width: synthetic.Side, Height: synthetic.Side}
		if set.Dimension() != side.Width*side.Height {
			return nil, &inadmissible{fmt.Errorf("oriented gradients are of %d by %d pixels, and records of %s have %d numbers", side.Width, side.Height, set.Name, set.Dimension())}
		}
		if t.train, err = featuremap.Oriented(t.train, side, t.tell); err != nil {
			return nil, err
		}
		if t.test, err = featuremap.Oriented(t.test, side, t.tell); err != nil {
			return nil, err
		}
		err = t.components(orientedComponents)
	}
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, v := range t.train.Data {
		sum += float64(v) * float64(v)
	}
	scale(t.train, sum/float64(len(t.train.Data)))
	scale(t.test, sum/float64(len(t.train.Data)))
	return t, nil
}

// components puts so many principal components in the place of features, as many as there can be.
func (t *task) components(n int) error {
	directions, train, err := cluster.Directions(t.train, min(n, t.train.Cols, t.train.Rows-1))
	if err == nil {
		t.train, t.test = train, directions.Project(t.test)
	}
	return err
}

// against has two classes: one, and all others.
func (t *task) against(class int) (*task, error) {
	if class == 0 {
		return t, nil
	}
	if class > t.classes {
		return nil, fmt.Errorf("class %d of %d against all others", class, t.classes)
	}
	two := func(of []int) []int {
		out := make([]int, len(of))
		for i, y := range of {
			if y == class-1 {
				out[i] = 1
			}
		}
		return out
	}
	b := *t
	b.labels, b.tests, b.classes, b.exact = two(t.labels), two(t.tests), 2, 0
	return &b, nil
}

// in returns the clusters of the records, by k-means on the components, anew for each run.
func (t *task) in(clusters, run int) ([]int, error) {
	key := [2]int{clusters, run}
	if of, ok := t.clusters[key]; ok {
		return of, nil
	}
	const forClusters = 0x1dc
	s, err := cluster.Means(seeded.New(t.seed, forClusters, uint64(run)), t.train, cluster.Options{Clusters: clusters}, t.tell)
	if err != nil {
		return nil, err
	}
	t.clusters[key] = cluster.All(s, t.train)
	return t.clusters[key], nil
}

// How multinomial logistic regression is trained, as drawn images have it (lab/labels/settle):
// to the end where the loss is that of labels, and with smaller steps where it is that of how
// likely reports are, or has weights below zero: these fit their noise.
var (
	entropy    = training.Training{Epochs: 8, Batch: 500, Rate: 0.02, Decay: 0.1, Loss: nn.CrossEntropy}
	likelihood = training.Training{Epochs: 8, Batch: 500, Rate: 0.005, Decay: 0.1, Loss: nn.Likelihood}
	modified   = training.Training{Epochs: 8, Batch: 500, Rate: 0.005, Decay: 0.1, Loss: nn.CrossEntropy}
)

const forTraining = 0x7a1

// learn trains on targets of the training's loss, and gives the accuracy on test records.
func (t *task) learn(targets []float32, how training.Training, run int) (*nn.Model, float64, error) {
	m, err := training.Fit(seeded.New(t.seed, forTraining, uint64(run)), t.train, targets, t.classes, how, t.tell)
	if err != nil {
		return nil, 0, err
	}
	return m, training.Accuracy(m, t.test, t.tests), nil
}

// withoutPrivacy returns the accuracy of the same model on the labels themselves.
func (t *task) withoutPrivacy() (float64, error) {
	if t.exact > 0 {
		return t.exact, nil
	}
	var err error
	_, t.exact, err = t.learn(training.OneHot(t.labels, t.classes), entropy, 0)
	return t.exact, err
}

// Run measures a cell.
func Run(c experiments.Cell, set *dataset.Set, tell simulate.Progress) (experiments.Result, error) {
	t, err := prepare(set, c.Labels.Features, c.Seed, tell)
	if err != nil {
		return experiments.Result{}, err
	}
	return t.measure(c)
}

func (t *task) measure(c experiments.Cell) (res experiments.Result, err error) {
	start := time.Now()
	if err := c.Validate(); err != nil {
		return res, err
	}
	if t, err = t.against(c.Labels.Against); err != nil {
		return res, err
	}
	exact, err := t.withoutPrivacy()
	if err != nil {
		return res, err
	}
	n := len(t.labels)
	res = experiments.Result{Dataset: t.set.Name, Synthetic: t.set.Synthetic, Data: t.set.Checksum, Respondents: n, Users: n, Runs: c.Runs, Seed: c.Seed}
	res.Learned = &experiments.Learned{AccuracyNoPrivacy: exact}
	way, ok := methods[c.Labels.Method]
	if !ok {
		return res, errors.New("ldc: a method that nobody measures: " + c.Labels.Method)
	}
	var all []float64
	for run := range c.Runs {
		t.tell(c.Labels.String(), run, c.Runs)
		accuracy, err := way(t, c.Labels, run, &res)
		if err != nil {
			return res, err
		}
		all = append(all, accuracy)
	}
	res.Learned.Accuracy, res.Learned.AccuracyStd = experiments.MeanStd(all)
	res.Seconds = time.Since(start).Seconds()
	return res, nil
}

// Kind is what these measurements have in common.
var Kind = &experiments.Kind{
	Takes:   func(set string) (takes, folder bool) { return slices.Contains(dataset.Names(), set), true },
	Choices: dataset.Names(),
	Bench:   func(d experiments.Data) experiments.Bench { return &bench{data: d} },
}

// bench measures cells, and holds the last data set.
type bench struct {
	data experiments.Data
	last *task
	name string // of its data set and features
}

func (b *bench) Shared(c experiments.Cell) string {
	return fmt.Sprint(c.Labels.Against, " ", c.Labels.Clusters, " ", c.Labels.Features)
}

func (b *bench) Measure(c experiments.Cell) (experiments.Measured, error) {
	t, err := b.task(c)
	var res experiments.Result
	if err == nil {
		res, err = t.measure(c)
	}
	if inadmissible := (&inadmissible{}); errors.As(err, &inadmissible) {
		return experiments.Measured{Cell: c, Reason: err.Error()}, nil
	}
	if err != nil {
		return experiments.Measured{}, err
	}
	return experiments.Measured{Cell: c, Result: &res}, nil
}

// task returns a cell's data set made ready: the last one, or another in its place.
func (b *bench) task(c experiments.Cell) (*task, error) {
	name := c.Dataset + " " + c.Labels.Features
	if b.last != nil && b.name == name && b.last.seed == c.Seed {
		return b.last, nil
	}
	b.last = nil // let go of the memory before more is taken
	set, err := b.data.Set(c.Dataset)
	if err != nil {
		return nil, err
	}
	b.last, err = prepare(set, c.Labels.Features, c.Seed, func(string, int, int) {})
	b.name = name
	return b.last, err
}

// inadmissible says why a mechanism does not take parameters.
type inadmissible struct{ error }
