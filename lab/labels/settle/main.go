// Command settle tries the numbers that the learners of private labels were given on drawn images, and prints the
// accuracy of each. Used by those who change these numbers, from the lab's root: go run ./labels/settle SEED
//
// It varies how many standard errors of a count a cluster holds, how often a network learns from itself, and the steps
// and the ridge of learning from sums. Noise is a curator's Gaussian, which ours comes near.
// docs/labels.md says what follows.
package main

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten/principal"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/labels/descent"
	"github.com/confetti-dp/confetti/lab/train/cluster"
	"github.com/confetti-dp/confetti/lab/train/featuremap"
	"github.com/confetti-dp/confetti/lab/train/labels"
	"github.com/confetti-dp/confetti/lab/train/synthetic"
)

const (
	respondents, tests, classes = 30_000, 5_000, 10

	delta     = 1e-6
	dishonest = 0.1
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("give a seed")
	}
	seed, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err == nil {
		err = settle(seed)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func quiet(string, int, int) {}

// people are respondents, and those that a model is tested on.
type people struct {
	seed    uint64
	x, test blas32.General // oriented gradients
	y, want []int
	scale   training.Scale

	pixels, others blas32.General // of respondents, and of those that a model is tested on
}

func settle(seed uint64) error {
	images, y := synthetic.Labelled(seeded.New(seed, 1), respondents+tests, classes)
	pixels := featuremap.Stacked(images)
	all, err := featuremap.Oriented(pixels, inputs.Size{Width: synthetic.Side, Height: synthetic.Side}, quiet)
	if err != nil {
		return err
	}
	p := people{seed: seed, x: all, test: all, y: y[:respondents], want: y[respondents:]}
	p.x.Rows, p.test.Rows, p.test.Data = respondents, tests, all.Data[respondents*all.Stride:]
	p.pixels, p.others = pixels, pixels
	p.pixels.Rows, p.others.Rows, p.others.Data = respondents, tests, pixels.Data[respondents*pixels.Stride:]
	p.scale = training.NewScale(p.x)
	for _, try := range []func() error{p.paper, p.mixed, p.sums, p.oneByOne, p.clusters} {
		if err := try(); err != nil {
			return err
		}
	}
	return nil
}

// sigma returns the noise of a curator, among those relied upon.
func sigma(epsilon float64) (float64, error) {
	noise, _, err := central.CalibrateGaussian(calibrate.Target{Rounds: 1, Epsilon: epsilon, Delta: delta}, math.Sqrt2)
	return noise.Sigma / math.Sqrt(1-dishonest), err
}

// rounds of learning from itself.
var rounds = []int{0, 2, 4, 8}

func (p people) clusters() error {
	r := rand.New(rand.NewPCG(p.seed, 2))
	for _, epsilon := range []float64{0.1, 0.25} {
		noise, err := sigma(epsilon)
		if err != nil {
			return err
		}
		for _, errors := range []float64{3, 4.5, cluster.Clear, 9} {
			j := cluster.Choose(respondents, func(float64) float64 { return noise * errors / cluster.Clear })
			s, err := cluster.Means(seeded.New(p.seed, 3), p.x, cluster.Options{Clusters: j, Least: respondents / (2 * j), Balanced: true}, quiet)
			if err != nil {
				return err
			}
			of := cluster.All(s, p.x)
			likely, err := p.counted(r, of, s.Sizes, noise)
			if err != nil {
				return err
			}
			for _, n := range rounds {
				m, err := labels.Settings{Rounds: n}.InClusters(seeded.New(p.seed, 4), p.scale.Examples(p.x), of, likely, classes, quiet)
				if err != nil {
					return err
				}
				fmt.Printf("epsilon %-4v errors in a cluster %-3v (%d clusters) rounds %d  %.4f\n", epsilon, errors, s.Len(), n, p.accuracy(m))
			}
		}
	}
	return nil
}

// counted returns the shares of labels in clusters, by noisy counts.
func (p people) counted(r *rand.Rand, of, sizes []int, noise float64) (likely [][]float64, err error) {
	counts := make([][]estimate.Value, len(sizes))
	for c := range counts {
		counts[c] = make([]estimate.Value, classes)
		for k := range counts[c] {
			counts[c][k] = estimate.Value{Mean: noise * r.NormFloat64(), StdErr: noise}
		}
	}
	for i, c := range of {
		counts[c][p.y[i]].Mean++
	}
	likely = make([][]float64, len(sizes))
	for c := range counts {
		if likely[c], err = training.Posterior(counts[c], float64(sizes[c])); err != nil {
			return nil, err
		}
	}
	return likely, nil
}

func (p people) oneByOne() error {
	r := rand.New(rand.NewPCG(p.seed, 5))
	for _, epsilon := range []float64{1, 2} {
		response, reported := randomize.KRR{K: classes, Epsilon: epsilon}, make([]int, respondents)
		for i, y := range p.y {
			reported[i] = response.Randomize(r, y)
		}
		for _, n := range rounds {
			m, err := labels.Settings{Rounds: n}.OneByOne(seeded.New(p.seed, 6), p.scale.Examples(p.x), reported, epsilon, classes, quiet)
			if err != nil {
				return err
			}
			fmt.Printf("one by one, epsilon %v rounds %d  %.4f\n", epsilon, n, p.accuracy(m))
		}
	}
	return nil
}

func (p people) sums() error {
	r := rand.New(rand.NewPCG(p.seed, 7))
	directions, err := principal.Fit(dataset.Copied(p.x), descent.Directions, descent.Regular, principal.Half)
	if err != nil {
		return err
	}
	x, test := unit(directions.Project(dataset.Copied(p.x))), unit(directions.Project(dataset.Copied(p.test)))
	exact := make([]float64, x.Cols*classes)
	for i, y := range p.y {
		for j, v := range x.Data[i*x.Stride:][:x.Cols] {
			exact[j*classes+y] += float64(v)
		}
	}
	for _, epsilon := range []float64{0.1, 0.5, 1} {
		noise, err := sigma(epsilon)
		if err != nil {
			return err
		}
		noisy := make([]float64, len(exact))
		for i, v := range exact {
			noisy[i] = v + noise*r.NormFloat64()
		}
		for _, steps := range []int{2, 4, 8, 16} {
			for _, ridge := range []float64{250, 2500, 25_000} {
				m, err := descent.FromSums(labels.Settings{Steps: steps, Ridge: ridge}, x, noisy, noise, classes)
				if err != nil {
					return err
				}
				fmt.Printf("sums, epsilon %-3v steps %-2d ridge %-5v  %.4f\n", epsilon, steps, ridge, training.Accuracy(m, test, p.want))
			}
		}
	}
	return nil
}

func unit(x blas32.General) blas32.General {
	for i := range x.Rows {
		whiten.Normalize(x.Data[i*x.Stride:][:x.Cols])
	}
	return x
}

func (p people) accuracy(m *nn.Model) float64 {
	return training.Accuracy(m, p.scale.Examples(p.test), p.want)
}
