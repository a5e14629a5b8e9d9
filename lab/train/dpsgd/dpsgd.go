// Package dpsgd trains models for a curator who sees the examples, by clipped gradients with noise (Abadi and others
// 2016, Algorithm 1). Used by lab/train/encoder and lab/train/attack, and elsewhere in the lab as a baseline.
//
// In each step every example takes part by a coin of its own. Nothing but the noisy sums reaches the model. An
// example whose gradient is not finite counts for nothing.
//
// Gradients are clipped and added up in single precision within a batch (nn.ClippedSum). What its rounding adds to
// the distance of two sums, beside the steps of the grid, is not accounted for: guarantees are of exact sums, and
// stand beside what devices do as a baseline.
package dpsgd

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Training is how a model is trained. All of it is public.
type Training struct {
	Sampling        float64 // probability that an example takes part in a step, in (0, 1]
	NoiseMultiplier float64 // deviation of the noise over Clip, in [0.05, 1e6]
	Steps           int     // >= 1
	Clip            float64 // length that gradients are clipped to, in [1e-9, 1e9]: single precision holds its square
	Expected        float64 // examples that take part in a step, in expectation: sums are divided by it
	Rate            float64 // of learning
}

// Validate says what is wrong with the parameters.
func (t Training) Validate() error {
	if _, err := t.Event().(account.Repeat).Event.Terms(); err != nil {
		return err
	}
	if !(t.Steps >= 1 && t.Clip >= 1e-9 && t.Clip <= 1e9 && t.Expected > 0 && t.Rate > 0) {
		return fmt.Errorf("dpsgd: %d steps, gradients of length %v, %v of them a step, rate %v: give positive numbers, and a length from 1e-9 to 1e9", t.Steps, t.Clip, t.Expected, t.Rate)
	}
	return nil
}

// Event returns what the accountant is told. Neighbours differ in one example, which counts for nothing in its place
// (zeroing-out): how many examples there are is public, since Sampling and Expected follow from it.
func (t Training) Event() account.Event {
	return account.Repeat{Event: central.SubsampledGaussian{Sampling: t.Sampling, NoiseMultiplier: t.NoiseMultiplier}, Rounds: t.Steps}
}

// Batches returns a training in which each of n examples is seen epochs times in expectation, batch of them in a
// step: all but its noise. Gradients have length one at most.
func Batches(n, batch int, epochs, rate float64) (Training, error) {
	t := Training{Sampling: float64(batch) / float64(max(1, n)), Clip: 1, Expected: float64(batch), Rate: rate}
	if batch < 1 || batch > n || !(epochs/t.Sampling >= 1 && epochs/t.Sampling <= 1e9) || !(rate > 0) {
		return t, fmt.Errorf("dpsgd: %v epochs in batches of %d of %d examples at rate %v: give a batch of 1 to as many as there are, a positive rate, and at least one step", epochs, batch, n, rate)
	}
	t.Steps = int(epochs / t.Sampling)
	return t, nil
}

// Keeping returns the training with the least noise that keeps epsilon at delta of each of n examples, where one
// counts for nothing in its place, and what it then keeps.
func (t Training) Keeping(n int, epsilon, delta float64) (Training, account.Guarantee, error) {
	target := calibrate.Target{Users: n, Rounds: 1, Epsilon: epsilon, Delta: delta} // all steps are one event
	if err := target.Check(); err != nil {
		return t, account.Guarantee{}, err
	}
	with := func(noise float64) Training {
		t.NoiseMultiplier = noise
		return t
	}
	noise, err := target.Least(func(noise float64) account.Event { return with(noise).Event() })
	if err != nil {
		return t, account.Guarantee{}, err
	}
	t = with(noise)
	g, err := account.Epsilon(t.Event(), delta)
	return t, g, err
}

// Partakers draws which of n examples take part in a step.
func (t Training) Partakers(r *rand.Rand, n int) (who []int) {
	coin := rng.Prob(t.Sampling)
	for i := range n {
		if rng.Bernoulli(r, coin) {
			who = append(who, i)
		}
	}
	return who
}

// steps is how many steps of the grid of sums a clipped gradient is long.
const steps = 1 << 14

// Noise rounds a sum of clipped gradients to a grid and adds integer noise, in place.
// Rounding moves each coordinate by half a step, so that two sums that are Clip apart come
// out up to sqrt(len(sum)) steps farther apart: the noise grows with that.
func (t Training) Noise(r *rand.Rand, sum []float64) {
	far := steps + math.Sqrt(float64(len(sum)))
	d := noise.DiscreteGaussian{Sigma: math.Min(1<<24, t.NoiseMultiplier*far*(1+1e-6))}
	step := d.Sigma / (t.NoiseMultiplier * far * (1 + 1e-6)) * steps // of them Clip has so many
	for i, x := range sum {
		sum[i] = (math.Round(x/t.Clip*step) + float64(d.Sample(r))) / step * t.Clip
	}
}

// Example is what is learned from: numbers, and the index of a class.
type Example struct {
	X     []float32
	Class int
}

// Fit trains a model whose outputs are scores of classes.
func (t Training) Fit(r *rand.Rand, m *nn.Model, examples []Example) error {
	if err := t.Validate(); err != nil {
		return err
	}
	descent, mean := nn.SGD{Rate: t.Rate}, make([]float32, len(m.Params))
	for range t.Steps {
		for i, x := range t.Sum(r, m, func(i int) ([]float32, int) { return examples[i].X, examples[i].Class }, len(examples)) {
			mean[i] = float32(x / t.Expected)
		}
		descent.Step(m.Params, mean)
	}
	return nil
}

// Sum returns one step's: of the clipped gradients of those of n examples who take part, with its
// noise.
func (t Training) Sum(r *rand.Rand, m *nn.Model, example func(i int) (x []float32, class int), n int) []float64 {
	who := t.Partakers(r, n)
	sum := nn.ClippedSum(m, t.Clip, func(i int) ([]float32, int) { return example(who[i]) }, len(who))
	t.Noise(r, sum)
	return sum
}
