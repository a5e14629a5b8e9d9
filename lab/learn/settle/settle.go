// Command settle tries the numbers that the learners of images were given on drawn images, and prints the accuracy
// of each. Used by those who change these numbers, from the lab's root: go run ./learn/settle SEED [DIR]
//
// It tries a study of 60,000 respondents at epsilon 1 and delta 1e-5 with 8,192 bits, by the error that the
// mechanism's formula has. With the folder of data sets it tries which words of texts count, on descriptions of
// things that nobody is asked about. docs/learning-how.md says what follows.
package main

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
)

const (
	respondents, tests, public = 60_000, 5_000, 16_000
	classes, dimension         = 10, 351
	bits                       = 8192
	epsilon, delta             = 1, 1e-5
	usualReg                   = 0.3
	gradients                  = 4 // rounds, after the first
)

var shape = features.Shape{Dimension: dimension, Classes: classes}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 && len(os.Args) != 3 {
		log.Fatal("give a seed, and for texts the folder of data sets")
	}
	seed, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 3 {
		err = settleTexts(os.Args[2], seed)
	} else {
		err = settle(seed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func settle(seed uint64) error {
	images, labels := synthetic.Labelled(seeded.New(seed, 1), respondents+tests, classes)
	quiet, side := func(string, int, int) {}, inputs.Size{Width: synthetic.Side, Height: synthetic.Side}
	oriented, err := featuremap.Oriented(featuremap.Stacked(images), side, quiet)
	if err != nil {
		return err
	}
	drawn, err := featuremap.Oriented(featuremap.Stacked(synthetic.Images(seeded.New(seed, 2), public)), side, quiet)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 3))
	for _, reg := range []float64{0.1, usualReg, 1} {
		state, err := principal.Fit(dataset.Copied(drawn), dimension, reg, principal.Full)
		if err != nil {
			return err
		}
		x := state.Project(dataset.Copied(oriented))
		for i := range x.Rows {
			whiten.Normalize(row(x, i))
		}
		if err := try(people{x, labels, respondents}, reg, r); err != nil {
			return err
		}
	}
	return nil
}

// try learns in one round with several shares of the noise's spectral norm, and where
// regularization is as usual in five rounds with several starts and steps.
func try(p people, reg float64, r *rand.Rand) error {
	sum := p.total(shape.Len(), shape.Message)
	noisy := func(sum []float64, s vector.Spec) []float64 {
		out := make([]float64, len(sum))
		for i, v := range sum {
			out[i] = v + s.Noise(respondents)*r.NormFloat64()
		}
		return out
	}
	decoded := func(share float64) (s features.Sums, specs []vector.Spec, err error) {
		if specs, err = designed(share); err != nil {
			return s, nil, err
		}
		s, err = shape.Decode(noisy(sum, specs[0]), specs[0].Noise(respondents))
		return s, specs, err
	}
	sums, _, err := decoded(1)
	if err != nil {
		return err
	}
	for _, times := range []float64{0, 0.5, 1, 2} {
		s := sums
		s.Noise *= times // which is all that lambda is made of
		l, err := moments.Ridge(s, respondents)
		if err != nil {
			return err
		}
		fmt.Printf("regularization %-4v lambda %-4v of the spectral norm  one round    %.4f\n", reg, times/2, p.accuracy(l.Class))
	}
	if reg != usualReg {
		return nil
	}
	for _, share := range []float64{0.15, 0.3, 0.5} {
		sums, specs, err := decoded(share)
		if err != nil {
			return err
		}
		descend := func(start, step float64) error {
			accuracy, err := p.descend(sums, start, step, func(sum []float64) []float64 { return noisy(sum, specs[1]) })
			fmt.Printf("regularization %-4v first round %-4v start %-4v step %-4v d  five rounds  %.4f\n", usualReg, share, 4*start, 2.5*step, accuracy)
			return err
		}
		for _, start := range []float64{0.5, 1, 2} {
			for _, step := range []float64{0.5, 1, 2} {
				if share != 0.3 && (start != 1 || step != 1) {
					continue
				}
				if err := descend(start, step); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// descend goes on with four rounds of gradients from a start and by steps so many times the usual
// ones.
func (p people) descend(sums features.Sums, start, step float64, noisy func([]float64) []float64) (float64, error) {
	d, err := moments.NewDescent(sums, respondents)
	if err != nil {
		return 0, err
	}
	for i := range d.Weights {
		d.Weights[i] *= start
	}
	white := people{blas32.General{Rows: p.x.Rows, Cols: dimension, Stride: dimension, Data: make([]float32, len(p.x.Data))}, p.y, p.asked}
	each(p.x.Rows, func(_, i int) { d.Features(append([]float32(nil), row(p.x, i)...), row(white.x, i)) })
	for range gradients {
		sum := noisy(white.total(shape.GradientLen(), d.Message))
		for i := range sum {
			sum[i] *= step
		}
		if err := d.Step(sum, respondents); err != nil {
			return 0, err
		}
	}
	return white.accuracy(d.Classifier().Class), nil
}

// designed returns the mechanisms of the round of moments, with its share of bits and budget, and of
// each of four of gradients.
func designed(share float64) ([]vector.Spec, error) {
	need := vector.Need{Respondents: respondents, Honest: respondents, Dimension: shape.Len(), Bits: int(share * bits), SquaredDistance: features.SquaredDistance()}
	needs, shares := []vector.Need{need}, []float64{share}
	if share < 1 {
		need.Dimension, need.Bits, need.SquaredDistance = shape.GradientLen(), int((1-share)*bits/gradients), features.GradientDistance
		for range gradients {
			needs, shares = append(needs, need), append(shares, (1-share)/gradients)
		}
	}
	return vector.Rounds(needs, shares, epsilon, delta)
}

// people are respondents, and after them those that a model is tested on.
type people struct {
	x     blas32.General
	y     []int
	asked int
}

func row(x blas32.General, i int) []float32 { return x.Data[i*x.Stride:][:x.Cols] }

// total adds up the messages of all respondents.
func (p people) total(length int, message func(psi []float32, class int, out []float32)) []float64 {
	workers := runtime.GOMAXPROCS(0)
	sums, vectors := make([][]float64, workers), make([][]float32, workers)
	for w := range workers {
		sums[w], vectors[w] = make([]float64, length), make([]float32, length)
	}
	each(p.asked, func(w, i int) {
		message(row(p.x, i), p.y[i], vectors[w])
		for k, v := range vectors[w] {
			sums[w][k] += float64(v)
		}
	})
	for _, s := range sums[1:] {
		for k, v := range s {
			sums[0][k] += v
		}
	}
	return sums[0]
}

func (p people) accuracy(class func([]float32) int) float64 {
	right := 0
	for i := p.asked; i < p.x.Rows; i++ {
		if class(row(p.x, i)) == p.y[i] {
			right++
		}
	}
	return math.Round(1e4*float64(right)/float64(p.x.Rows-p.asked)) / 1e4
}

// each calls f with the numbers below n, on all processors.
func each(n int, f func(worker, i int)) {
	workers := runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				f(w, i)
			}
		})
	}
	wait.Wait()
}
