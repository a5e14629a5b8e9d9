package main

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/learn/training"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/labeldp"
	"github.com/confetti-dp/confetti/lab/train/labels"
)

// mixed sets labels one by one beside two stages: a network of the first half says which labels
// to expect of the second, which is told among these (RRWithPrior). Where one label is kept its
// report says nothing, and the network's own probabilities take its place.
func (p people) mixed() error {
	const half = respondents / 2
	examples := p.scale.Examples(p.x)
	first, second := examples, examples
	first.Rows, second.Rows, second.Data = half, respondents-half, examples.Data[half*examples.Stride:]
	for _, epsilon := range []float64{0.5, 1, 2} {
		r, response := seeded.New(p.seed, 12), randomize.KRR{K: classes, Epsilon: epsilon}
		reported := make([]int, respondents)
		for i, y := range p.y {
			reported[i] = response.Randomize(r, y)
		}
		all, err := labels.Usual.OneByOne(seeded.New(p.seed, 13), examples, reported, epsilon, classes, quiet)
		if err != nil {
			return err
		}
		early, err := labels.Settings{}.OneByOne(seeded.New(p.seed, 13), first, reported[:half], epsilon, classes, quiet)
		if err != nil {
			return err
		}
		likely, one := make([]float32, 0, respondents*classes), 0
		for _, said := range reported[:half] {
			for class := range classes {
				likely = append(likely, float32(response.Prob(class, said)))
			}
		}
		for i, expected := range probabilities(early, second) {
			prior, err := labeldp.Expect(expected, epsilon)
			if err != nil {
				return err
			}
			if len(prior.Kept) == 1 {
				likely, one = append(likely, expected...), one+1
				continue
			}
			said := prior.Randomize(r, p.y[half+i])
			for class := range classes {
				likely = append(likely, float32(prior.Law(class, said)))
			}
		}
		m, err := training.Fit(seeded.New(p.seed, 13), examples, likely, classes, training.Training{Hidden: 128, Epochs: 4, Batch: 128, Rate: 1e-3, Loss: nn.Likelihood}, quiet)
		if err != nil {
			return err
		}
		before := p.accuracy(m)
		if m, err = labels.Usual.Again(seeded.New(p.seed, 14), m, examples, quiet); err != nil {
			return err
		}
		fmt.Printf("epsilon %-3v one by one %.4f; two stages %.4f, and from itself %.4f; the first half alone %.4f; one label kept of %.3f\n", epsilon, p.accuracy(all), before, p.accuracy(m), p.accuracy(early), float64(one)/float64(second.Rows))
	}
	return nil
}

// probabilities returns a network's of each row.
func probabilities(m *nn.Model, x blas32.General) [][]float32 {
	scores, out := nn.NewPass(m).Forward(x.Data[:x.Rows*x.Cols], x.Rows), make([][]float32, x.Rows)
	nn.Softmax(scores, classes)
	for i := range out {
		out[i] = scores[i*classes:][:classes]
	}
	return out
}
