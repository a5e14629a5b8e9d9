// Package fit makes features from public or synthetic inputs: from images, texts or rows of
// numbers whose owners have nothing to hide, and never from what respondents hold.
package fit

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode/gradients"
	"github.com/confetti-dp/confetti/dp/encode/lsa"
	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/learn/model"
)

// Progress is told how far a stage has come.
type Progress func(stage string, done, total int)

// Images are features of images of a size, rows of grey levels: oriented gradients, in so
// many principal directions of the public ones, each divided by the root of its eigenvalue
// plus reg times the mean one.
func Images(public blas32.General, size model.Size, dimension int, reg float64, tell Progress) (*model.Features, error) {
	x, err := Oriented(public, size, tell)
	if err != nil {
		return nil, err
	}
	tell("principal directions", 0, 1)
	state, err := principal.Fit(x, dimension, reg, principal.Full)
	if err != nil {
		return nil, err
	}
	return &model.Features{Image: &size, Maps: []*whiten.State{state}}, nil
}

// Stacked are images of one size as rows.
func Stacked(images [][]float32) blas32.General {
	length := len(images[0])
	return blas32.General{Rows: len(images), Cols: length, Stride: length, Data: slices.Concat(images...)}
}

// Oriented are the gradients of images at two scales, on all processors.
func Oriented(images blas32.General, size model.Size, tell Progress) (blas32.General, error) {
	first, err := gradients.New(size.Width, size.Height)
	if err != nil {
		return blas32.General{}, err
	}
	y := blas32.General{Rows: images.Rows, Cols: first.Len(), Stride: first.Len(), Data: make([]float32, images.Rows*first.Len())}
	err = share(images.Rows, func(from, to int) error {
		m, err := gradients.New(size.Width, size.Height)
		for i := from; i < to && err == nil; i++ {
			if from == 0 && i%100 == 0 {
				tell("gradients", i, to)
			}
			image := images.Data[i*images.Stride:][:images.Cols]
			if err = m.Check(image); err == nil {
				m.Apply(image, y.Data[i*y.Stride:][:y.Cols])
			}
		}
		return err
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
// root of its eigenvalue plus reg times the mean one. Words in more than the share common of
// them do not count.
func Texts(r *rand.Rand, public []string, dimension int, common, reg float64, tell Progress) (*model.Features, error) {
	tell("latent directions", 0, 1)
	state, err := lsa.Fit(r, public, dimension, common)
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
	return &model.Features{Text: state, Maps: []*whiten.State{white}}, nil
}

// Columns are features of rows of numbers: each column less its mean and over its deviation in
// public rows, then in so many principal directions of these as of Images. They are scaled so
// that 80 of 100 public rows have a length of at most one, and others are shortened to that:
// the longer rows are, the less the noise of sums of them counts. What is in public is used up.
func Columns(names []string, public blas32.General, dimension int, reg float64) (*model.Features, error) {
	f := &model.Features{}
	for j, name := range names {
		sum, squares, n := 0.0, 0.0, float64(public.Rows)
		for i := range public.Rows {
			v := float64(public.Data[i*public.Stride+j])
			sum, squares = sum+v, squares+v*v
		}
		deviation := math.Sqrt(math.Max(0, squares/n-sum/n*sum/n))
		if !(deviation > 0) {
			deviation = 1 // a column that is the same for all says nothing
		}
		f.Columns = append(f.Columns, model.Column{Name: name, Middle: sum / n, Scale: deviation})
	}
	f.Standardize(public)
	state, err := principal.Fit(public, dimension, reg, principal.Full)
	if err != nil {
		return nil, err
	}
	y := state.Project(public)
	norms := make([]float64, y.Rows)
	for i := range norms {
		norms[i] = float64(blas32.Nrm2(blas32.Vector{N: y.Cols, Inc: 1, Data: y.Data[i*y.Stride:]}))
	}
	slices.Sort(norms)
	f.Maps, f.Cut = []*whiten.State{state}, float32(norms[len(norms)*80/100])
	return f, nil
}
