package sgd

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
	"github.com/confetti-dp/confetti/simulate"
)

// population is who is asked, and the records that the model is judged on.
type population struct {
	network     string // of the plan
	checksum    string // of the data set's files
	dimension   int
	classes     []string
	values      []question.Value
	test        [][]float32
	testClasses []int
}

// prepare turns a set's records into examples. What takes minutes is kept in a folder, if one is given.
func prepare(c Cell, set *dataset.Set, keep string, progress simulate.Progress) (population, error) {
	p := population{network: c.Architecture, checksum: set.Checksum, classes: set.Classes, testClasses: set.Test.Y}
	if c.Architecture == "xiv" {
		p.network = "linear" // of what the layers before give
		if set.Dimension() != 3*colourSide*colourSide {
			return p, fmt.Errorf("architecture xiv takes pictures of 32x32 in three colours, which %s has none of", set.Name)
		}
		set, err := pretrained(set, keep, progress)
		if err != nil {
			return p, err
		}
		return p, p.fill(set, c.HeldBack, func(x blas32.General) ([][]float32, error) { return mapped(x, x.Cols, scaled(1)) })
	}
	example, err := examples(c, set, progress)
	if err != nil {
		return p, err
	}
	return p, p.fill(set, c.HeldBack, example)
}

// judges are the most records that are held back which a model is judged on: as many as MNIST has test records.
const judges = 10_000

// fill makes a set's records examples. Where records are held back, the earlier half of the respondents answer, and the first
// of the later half stand in the place of test records.
func (p *population) fill(set *dataset.Set, heldBack bool, example func(blas32.General) ([][]float32, error)) error {
	train, err := example(set.Train.X)
	if err != nil {
		return err
	}
	for i, x := range train {
		p.values = append(p.values, gradient.Labelled{Features: x, Class: set.Train.Y[i]})
	}
	if heldBack {
		half, judged := len(train)/2, min(len(train), len(train)/2+judges)
		p.values, p.test, p.testClasses = p.values[:half], train[half:judged], set.Train.Y[half:judged]
	} else if p.test, err = example(set.Test.X); err != nil {
		return err
	}
	p.dimension = len(p.test[0])
	return nil
}

// complete returns the cell with what its architecture works with, where it leaves that open.
func (c Cell) complete() Cell {
	if c.Clip == 0 {
		c.Clip = map[string]float64{"linear": linearClip, "xiii": 1, "xiv": linearClip}[c.Architecture]
	}
	if c.Rate == 0 {
		c.Rate = map[string]float64{"linear": 0.8, "xiii": 0.25, "xiv": 0.8}[c.Architecture]
	}
	return c
}

// examples makes the rows of a matrix examples of an architecture: of a linear model unit
// vectors of public features, times linearScale, of a network the pictures.
func examples(c Cell, set *dataset.Set, progress simulate.Progress) (func(blas32.General) ([][]float32, error), error) {
	picture := set.Dimension() == side*side
	switch {
	case c.Architecture == "linear" && picture:
		return oriented(cmp.Or(c.Directions, directions), progress)
	case c.Directions != 0:
		return nil, fmt.Errorf("directions are of pictures of 28x28, which %s has none of", set.Name)
	case c.Architecture == "linear":
		return func(x blas32.General) ([][]float32, error) { return mapped(x, x.Cols, scaled(linearScale)) }, nil
	case !picture:
		return nil, fmt.Errorf("architecture %s takes pictures of 28x28, which %s has none of", c.Architecture, set.Name)
	}
	return func(x blas32.General) ([][]float32, error) { return mapped(x, x.Cols, scaled(pictureLength)) }, nil
}

const (
	// linearScale is the length of a linear model's examples beside the constant one of its
	// bias, and linearClip that of both together: a gradient is no longer times the error.
	linearScale = 3
	linearClip  = 3.1622776601683795
	// side is that of the pictures that have features, in pixels.
	side = 28
	// pictureLength is about that of an image of a digit with pixels from 0 to 1.
	pictureLength = 9.2
	// publicImages are what features are whitened by, to so many directions.
	publicImages = 16_000
	directions   = 351
)

// oriented are oriented gradients of pictures, whitened by generated ones: no record that
// anybody holds has part in them.
func oriented(directions int, progress simulate.Progress) (func(blas32.General) ([][]float32, error), error) {
	public := blas32.General{Rows: publicImages, Cols: side * side, Stride: side * side}
	for _, image := range synthetic.Images(seeded.New(1), publicImages) {
		public.Data = append(public.Data, image...)
	}
	features, err := featuremap.Images(public, &inputs.Map{Image: &inputs.Size{Width: side, Height: side}}, directions, 0.3, featuremap.Progress(progress))
	if err != nil {
		return nil, err
	}
	return func(x blas32.General) ([][]float32, error) {
		return mapped(x, features.Len(), func(x, out []float32) error {
			of, err := features.OfNumbers(x)
			if err != nil {
				return err
			}
			return scaled(linearScale)(of, out)
		})
	}, nil
}

// scaled returns a copy that many times as long.
func scaled(by float32) func(x, out []float32) error {
	return func(x, out []float32) error {
		for i, v := range x {
			out[i] = by * v
		}
		return nil
	}
}

// mapped returns the rows of x by a map, on all processors.
func mapped(x blas32.General, size int, apply func(x, out []float32) error) ([][]float32, error) {
	rows, all := make([][]float32, x.Rows), make([]float32, x.Rows*size)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < x.Rows && errs[w] == nil; i += workers {
				rows[i] = all[i*size : (i+1)*size : (i+1)*size]
				errs[w] = apply(x.Data[i*x.Stride:][:x.Cols], rows[i])
			}
		})
	}
	wait.Wait()
	return rows, errors.Join(errs...)
}
