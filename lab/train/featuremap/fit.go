// Package featuremap makes maps from inputs to features out of public or synthetic inputs, never from what
// respondents hold. Used by lab/cmd/confetti-lab/train and other packages of the lab.
package featuremap

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cosines"
	"github.com/confetti-dp/confetti/internal/dp/encode/hashedwords"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/dp/encode/scattering"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/lab/train/texts"
)

// Progress is told how far a stage has come.
type Progress func(stage string, done, total int)

// Images are features of images, rows of grey levels, by a fixed map: in so many principal
// directions of the public ones, each divided by the root of its eigenvalue plus reg times the mean
// one.
func Images(public blas32.General, fixed *inputs.Map, dimension int, reg float64, tell Progress) (*inputs.Map, error) {
	x, err := Of(public, fixed, tell)
	if err != nil {
		return nil, err
	}
	tell("principal directions", 0, 1)
	state, err := principal.Fit(x, dimension, reg, principal.Full)
	if err != nil {
		return nil, err
	}
	m := *fixed
	m.Maps = []*whiten.State{state}
	return &m, nil
}

// Fixed returns the map of images of a size to oriented gradients, or to scattering coefficients.
func Fixed(size inputs.Size, scatter bool) (m *inputs.Map, err error) {
	m = &inputs.Map{Image: &size}
	if scatter {
		m.Scatter, err = scattering.New(size.Width, size.Height)
	}
	return m, err
}

// Stacked are images of one size as rows.
func Stacked(images [][]float32) blas32.General {
	length := len(images[0])
	return blas32.General{Rows: len(images), Cols: length, Stride: length, Data: slices.Concat(images...)}
}

// Oriented returns the gradients of images at two scales.
func Oriented(images blas32.General, size inputs.Size, tell Progress) (blas32.General, error) {
	return Of(images, &inputs.Map{Image: &size}, tell)
}

// Of are features of images by a map, on all processors.
func Of(images blas32.General, m *inputs.Map, tell Progress) (blas32.General, error) {
	if err := m.Check(); err != nil {
		return blas32.General{}, err
	}
	wide := m.Len()
	y := blas32.General{Rows: images.Rows, Cols: wide, Stride: wide, Data: make([]float32, images.Rows*wide)}
	err := share(images.Rows, func(from, to int) error {
		for i := from; i < to; i++ {
			if from == 0 && i%100 == 0 {
				tell("features", i, to)
			}
			x, err := m.OfNumbers(images.Data[i*images.Stride:][:images.Cols])
			if err != nil {
				return err
			}
			copy(y.Data[i*wide:], x)
		}
		return nil
	})
	return y, err
}

// share calls f with parts of the numbers below n, on all processors.
func share(n int, f func(from, to int) error) (err error) {
	workers := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() { errs[w] = f(w*n/workers, (w+1)*n/workers) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Texts are features of texts: so many latent directions of public ones, each divided by the
// root of its eigenvalue plus reg times the mean one.
func Texts(r *rand.Rand, public []string, dimension int, count lsa.Words, reg float64, tell Progress) (*inputs.Map, error) {
	tell("latent directions", 0, 1)
	state, err := texts.Fit(r, public, dimension, count)
	if err != nil {
		return nil, err
	}
	x := blas32.General{Rows: len(public), Cols: dimension, Stride: dimension, Data: make([]float32, len(public)*dimension)}
	for i, text := range public {
		if i%1000 == 0 {
			tell("public texts", i, len(public))
		}
		row := x.Data[i*dimension:][:dimension]
		state.Apply(text, row)
		whiten.Normalize(row)
	}
	white, err := principal.Fit(x, dimension, reg, principal.Full)
	if err != nil {
		return nil, err
	}
	return &inputs.Map{Text: state, Maps: []*whiten.State{white}}, nil
}

// Hashed are words by themselves, in so many places: nothing is made of texts but how common words
// are, of which the shares are public.
func Hashed(common map[string]float64, places int) (*inputs.Map, error) {
	m := &hashedwords.Map{Places: places, Half: Half, Common: slices.Sorted(maps.Keys(common))}
	for _, w := range m.Common {
		m.Shares = append(m.Shares, float32(common[w]))
	}
	return &inputs.Map{Words: m}, m.Prepare()
}

// Cosines are features of rows of numbers as Columns has them, of columns and cosines beside them.
func Cosines(r *rand.Rand, names []string, public blas32.General, n, dimension int, reg float64) (*inputs.Map, error) {
	m := training.Standard(names, public)
	m.Cosines = cosines.New(r, len(names), n)
	m.Standardize(public)
	return m, whitened(m, m.Cosines.Beside(public), dimension, reg)
}

// Columns are features of rows of numbers: each column less its mean and over its deviation in
// public rows, then in so many principal directions of these as of Images. They are scaled so
// that 80 of 100 public rows have a length of at most one, and others are shortened to that:
// the longer rows are, the less the noise of sums of them counts. What is in public is used up.
func Columns(names []string, public blas32.General, dimension int, reg float64) (*inputs.Map, error) {
	m := training.Standard(names, public)
	m.Standardize(public)
	return m, whitened(m, public, dimension, reg)
}

// Scaled are rows less a mean and over a deviation of each column.
func Scaled(x blas32.General, mean, deviation []float64) blas32.General {
	out := blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	for i := range x.Rows {
		for j := range x.Cols {
			out.Data[i*x.Cols+j] = float32((float64(x.Data[i*x.Stride+j]) - mean[j]) / deviation[j])
		}
	}
	return out
}

// whitened adds the principal directions of public rows, and the cut.
func whitened(m *inputs.Map, public blas32.General, dimension int, reg float64) error {
	state, err := principal.Fit(public, dimension, reg, principal.Full)
	if err != nil {
		return err
	}
	y := state.Project(public)
	norms := make([]float64, y.Rows)
	for i := range norms {
		norms[i] = float64(blas32.Nrm2(blas32.Vector{N: y.Cols, Inc: 1, Data: y.Data[i*y.Stride:]}))
	}
	slices.Sort(norms)
	m.Maps, m.Cut = []*whiten.State{state}, float32(norms[len(norms)*80/100])
	return nil
}
