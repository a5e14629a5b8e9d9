package learn

import (
	"math/bits"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
)

const (
	drawnImages  = 16_000 // synthetic, for principal directions
	publicImages = 2_000  // without labels
	// Of the data set that is drawn.
	syntheticTrain, syntheticTest = 4_000, 1_000
	// Of eigenvalues, in parts of their mean: of gradients, and of scattering coefficients.
	imageReg, scatterReg = 0.3, 0.1
	// A row wants this many answers; below, what the accountant charges above a Gaussian grows.
	rowAnswers = 2_000
)

// imageDimensions are numbers of principal directions whose moments, with ten classes, fill
// 65,536 and 16,384 rows.
var imageDimensions = []int{351, 170}

// imageDimension returns the largest for which the first round's rows are answered often enough.
func (s Setting) imageDimension(respondents int) int {
	if s.proved() && s.Public != unlabelled { // second moments have no more numbers than are proved
		return imageDimensions[1]
	}
	if s.proved() {
		return imageDimensions[0]
	}
	bits := s.firstBits()
	for _, d := range imageDimensions {
		if rows := rowsOf(d*(d+1)/2 + 10*(d+1)); respondents*bits/rows >= rowAnswers {
			return d
		}
	}
	return imageDimensions[len(imageDimensions)-1]
}

func rowsOf(length int) int { return 1 << bits.Len(uint(length-1)) }

// firstBits returns those of the round that the dimension is for.
func (s Setting) firstBits() int {
	if s.Rounds > 1 && s.Takes == takesAll {
		return int(momentShare * float64(s.Bits))
	}
	return s.Bits
}

func loadImages(s Setting, dir string, tell featuremap.Progress) (*task, error) {
	t := &task{metric: accuracy, classes: strings.Fields("a b c d e f g h i j")}
	raw := make([]blas32.General, 2)
	if s.Dataset == "synthetic" {
		const n, tests = syntheticTrain, syntheticTest
		images, labels := synthetic.Labelled(seeded.New(s.Seed, 1), n+tests, len(t.classes))
		all := featuremap.Stacked(images)
		raw[0], raw[1] = blas32.General{Rows: n, Cols: all.Cols, Stride: all.Stride, Data: all.Data}, blas32.General{Rows: tests, Cols: all.Cols, Stride: all.Stride, Data: all.Data[n*all.Stride:]}
		t.train.y, t.test.y = labels[:n], labels[n:]
	} else {
		set, err := dataset.Load(dir, s.Dataset)
		if err != nil {
			return nil, err
		}
		raw[0], raw[1], t.train.y, t.test.y, t.classes = set.Train.X, set.Test.X, set.Train.Y, set.Test.Y, set.Classes
	}
	side := inputs.Size{Width: synthetic.Side, Height: synthetic.Side}
	fixed, err := featuremap.Fixed(side, s.Features == "scattering")
	if err != nil {
		return nil, err
	}
	features := func(x blas32.General) (blas32.General, error) { return featuremap.Of(x, fixed, tell) }
	if s.Features == "pixels" {
		features = func(x blas32.General) (blas32.General, error) { return dataset.Copied(x), nil }
	}
	// Public are the inputs that directions are fitted to, and labelled ones.
	images, labels := synthetic.Labelled(seeded.New(s.Seed, 2), alike, len(t.classes))
	public, like := featuremap.Stacked(synthetic.Images(seeded.New(s.Seed, 3), s.drawn())), featuremap.Stacked(images)
	if t.public.y = labels; s.Public == unlabelled {
		t.white, t.public.y = true, make([]int, alike) // as if all were of one class: too much alike
		all := records{x: raw[0], y: t.train.y}
		public, like = all.part(0, publicImages).x, all.part(0, alike).x
		all = all.part(publicImages, raw[0].Rows)
		raw[0], t.train.y = all.x, all.y
	}
	var x [4]blas32.General
	for i, images := range []blas32.General{public, like, raw[0], raw[1]} {
		var err error
		if x[i], err = features(images); err != nil {
			return nil, err
		}
	}
	tell("principal directions", 0, 1)
	reg := imageReg
	if s.Features == "scattering" {
		reg = scatterReg
	}
	state, err := principal.Fit(x[0], s.imageDimension(raw[0].Rows), reg, principal.Full)
	if err != nil {
		return nil, err
	}
	if s.Features != "pixels" {
		fixed.Maps = []*whiten.State{state}
		t.features = fixed
	}
	t.public.x, t.train.x, t.test.x = whitened(state, x[1]), whitened(state, x[2]), whitened(state, x[3])
	return t, nil
}

// drawn is fewer where nobody looks at the accuracy.
func (s Setting) drawn() int {
	if s.Dataset == "synthetic" {
		return drawnImages / 16
	}
	return drawnImages
}
