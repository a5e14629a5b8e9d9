package learn

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/gradients"
	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/synthetic"
)

const (
	drawnImages  = 16_000 // synthetic, for principal directions
	publicImages = 2_000  // without labels
	imageReg     = 0.3    // of eigenvalues, in parts of their mean
	// A row wants this many answers; below, what the accountant charges above a Gaussian grows.
	rowAnswers = 2_000
)

// imageDimensions are numbers of principal directions whose moments, with ten classes, fill
// 65,536 and 16,384 rows.
var imageDimensions = []int{351, 170}

// imageDimension is the largest for which the first round's rows are answered often enough.
func imageDimension(respondents, bits int) int {
	for _, d := range imageDimensions {
		if rows := rowsOf(d*(d+1)/2 + 10*(d+1)); respondents*bits/rows >= rowAnswers {
			return d
		}
	}
	return imageDimensions[len(imageDimensions)-1]
}

func rowsOf(length int) int {
	rows := 1
	for rows < length {
		rows *= 2
	}
	return rows
}

// firstBits are those of the round that the dimension is for.
func (s Setting) firstBits() int {
	if s.Rounds > 1 && s.Takes == TakesAll {
		return int(momentShare * float64(s.Bits))
	}
	return s.Bits
}

func loadImages(s Setting, dir string) (*task, error) {
	t := &task{metric: accuracy, classes: 10}
	raw := make([]blas32.General, 2)
	if s.Dataset == "synthetic" {
		const n, tests = 4_000, 1_000
		images, labels := synthetic.Labelled(replay.New(s.Seed, 1), n+tests, t.classes)
		all := rows(images)
		raw[0], raw[1] = blas32.General{Rows: n, Cols: all.Cols, Stride: all.Stride, Data: all.Data}, blas32.General{Rows: tests, Cols: all.Cols, Stride: all.Stride, Data: all.Data[n*all.Stride:]}
		t.train.y, t.test.y = labels[:n], labels[n:]
	} else {
		set, err := dataset.Load(dir, s.Dataset)
		if err != nil {
			return nil, err
		}
		raw[0], raw[1], t.train.y, t.test.y, t.classes = set.Train.X, set.Test.X, set.Train.Y, set.Test.Y, len(set.Classes)
	}
	features := oriented
	if s.Features == "pixels" {
		features = func(x blas32.General) blas32.General { return x }
	}
	train, test := features(raw[0]), features(raw[1])
	images, labels := synthetic.Labelled(replay.New(s.Seed, 2), alike, t.classes)
	public := features(rows(images))
	fit := features(rows(synthetic.Images(replay.New(s.Seed, 3), s.drawn())))
	t.public.y = labels
	if s.Public == Unlabelled {
		t.white = true
		fit = records{x: train}.part(0, publicImages).x
		fit.Data = append([]float32(nil), fit.Data[:fit.Rows*fit.Stride]...)
		rest := records{train, t.train.y, nil}.part(publicImages, train.Rows)
		train, t.train.y = rest.x, rest.y
		public, t.public.y = fit, make([]int, publicImages) // as if all were of one class: too much alike
		public.Data = append([]float32(nil), fit.Data...)
	}
	state, err := principal.Fit(fit, imageDimension(train.Rows, s.firstBits()), imageReg, principal.Full)
	if err != nil {
		return nil, err
	}
	t.train.x, t.test.x, t.public.x = whitened(state, train), whitened(state, test), whitened(state, public)
	return t, nil
}

// drawn is fewer where nobody looks at the accuracy.
func (s Setting) drawn() int {
	if s.Dataset == "synthetic" {
		return drawnImages / 16
	}
	return drawnImages
}

func rows(images [][]float32) blas32.General {
	x := matrix(len(images), len(images[0]))
	for i, image := range images {
		copy(x.Data[i*x.Stride:], image)
	}
	return x
}

// oriented are gradients at two scales.
func oriented(x blas32.General) blas32.General {
	fresh := func() *gradients.Map {
		m, err := gradients.New(synthetic.Side, synthetic.Side)
		if err != nil {
			panic(err) // a size that it takes
		}
		return m
	}
	y := matrix(x.Rows, fresh().Len())
	each(x.Rows, fresh, func(m *gradients.Map, i int) { m.Apply(x.Data[i*x.Stride:][:x.Cols], y.Data[i*y.Stride:][:y.Cols]) })
	return y
}
