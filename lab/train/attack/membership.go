// Package attack guesses who is among the examples of models that were trained with noise, and bounds epsilon from
// below. Used by lab/cmd/confetti-lab/train and lab/sgd.
package attack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
)

// streams of a seed, beside those of views.
const (
	forTraining = 1 << 40
	forSealed   = 2 << 40
)

// Models are trained on some of a set of examples. Who has a model guesses which.
type Models struct {
	Training dpsgd.Training
	New      func(r *rand.Rand) (*nn.Model, error) // untrained
	Examples []dpsgd.Example
	Shadows  int // models that the attacker trains, >= 2
}

// Trained returns a task for attacks on training: examples of two classes that overlap, half of
// which are trained on.
func Trained(t dpsgd.Training, examples int, seed uint64) Models {
	dimension := examples // so that a linear model may know half of them by heart
	r := seeded.New(seed, forTraining)
	m := Models{Training: t, Shadows: 16, New: func(r *rand.Rand) (*nn.Model, error) {
		return nn.New(r, nn.Dense{In: dimension, Out: 2})
	}}
	m.Training.Clip, m.Training.Rate = 1, 2
	m.Training.Expected = math.Max(1, t.Sampling*float64(examples)/2)
	for range examples {
		e := dpsgd.Example{X: make([]float32, dimension), Class: r.IntN(2)}
		for i := range e.X {
			e.X[i] = float32(r.NormFloat64())
		}
		e.X[0] += float32(2*e.Class - 1)
		m.Examples = append(m.Examples, e)
	}
	return m
}

// Attack trains one model on examples that fair coins take, and guesses them in two ways: by
// their loss alone (Yeom, Giacomelli, Fredrikson and Jha 2018), and by how likely the loss is
// among models that the attacker has trained with and without them (Carlini et al. 2022). Its
// claim is of adding or removing an example.
func (m Models) Attack(claim account.Guarantee, seed uint64, progress func(done, of int)) ([]audit.Finding, error) {
	target, in, err := m.train(seeded.New(seed, forSealed))
	if err != nil {
		return nil, err
	}
	threshold := audit.Guessed{Second: in}
	for _, loss := range target {
		threshold.Score = append(threshold.Score, -loss)
	}
	s := make(shadows, len(m.Examples))
	for i := range m.Shadows {
		progress(i, m.Shadows)
		losses, in, err := m.train(seeded.New(seed, forSealed, uint64(i)))
		if err != nil {
			return nil, err
		}
		s.add(losses, in)
	}
	likely := audit.Guessed{Score: s.scores(target), Second: in}
	about := fmt.Sprintf("of %d examples, half of which a model was trained on", len(m.Examples))
	var findings []audit.Finding
	for _, a := range []struct {
		name string
		c    audit.Guessed
	}{{"loss threshold " + about, threshold}, {fmt.Sprintf("likelihood of the loss among %d shadow models, %s", m.Shadows, about), likely}} {
		findings = append(findings, a.c.Finding(a.name, claim))
	}
	return findings, nil
}

// train returns one model's losses, and which examples it was trained on.
func (m Models) train(r *rand.Rand) (losses []float64, in []bool, err error) {
	var members []dpsgd.Example
	in = make([]bool, len(m.Examples))
	for i, e := range m.Examples {
		if in[i] = r.Uint64()>>63 == 1; in[i] {
			members = append(members, e)
		}
	}
	model, err := m.New(r)
	if err == nil {
		err = m.Training.Fit(r, model, members)
	}
	if err != nil {
		return nil, nil, err
	}
	pass, k := nn.NewPass(model), model.Outputs()
	target, dy := make([]float32, k), make([]float32, k)
	for _, e := range m.Examples {
		clear(target)
		target[e.Class] = 1
		losses = append(losses, nn.CrossEntropy(pass.Forward(e.X, 1), target, dy, k))
	}
	return losses, in, nil
}

// Members returns what a threshold of the loss tells of who was trained on (Yeom, Giacomelli, Fredrikson and Jha 2018;
// ESA, section VII-C): by how much the rates of members and of others up to it differ, where they differ most among these very
// records, and the epsilon at delta that losses show with Confidence, by a threshold that one half of them chose and the
// other is new to. ESA prints -log(TPR - FPR) for such an epsilon; it is -log(1 - (TPR - FPR)) without delta.
func Members(members, others []float64, delta float64) (difference, lower float64) {
	in, out := slices.Sorted(slices.Values(members)), slices.Sorted(slices.Values(others))
	j := 0
	for i, loss := range in {
		for j < len(out) && out[j] <= loss {
			j++
		}
		difference = math.Max(difference, float64(i+1)/float64(len(in))-float64(j)/float64(len(out)))
	}
	return difference, audit.Scored{First: members, Second: others}.Lower(delta, 1-audit.Confidence)
}

// shadows are, by example, the logits of its class's probability in models with and without it.
type shadows [][2]sample

// sample is a number of values, with their sum and that of their squares.
type sample struct{ n, sum, squares float64 }

func (s *sample) add(x float64) { s.n, s.sum, s.squares = s.n+1, s.sum+x, s.squares+x*x }

func (s sample) mean() float64 { return s.sum / math.Max(1, s.n) }

func (s shadows) add(losses []float64, in []bool) {
	for i, loss := range losses {
		side := 0
		if in[i] {
			side = 1
		}
		s[i][side].add(logit(loss))
	}
}

// scores are logarithms of likelihood ratios, normal laws of one deviation for all examples
// assumed: there are few models for each.
func (s shadows) scores(losses []float64) []float64 {
	within, free := 0.0, 0.0
	for _, e := range s {
		for _, side := range e {
			within += side.squares - side.n*side.mean()*side.mean()
			free += math.Max(0, side.n-1)
		}
	}
	variance := within/math.Max(1, free) + 1e-12
	out := make([]float64, len(losses))
	for i, loss := range losses {
		without, with, x := s[i][0].mean(), s[i][1].mean(), logit(loss)
		out[i] = (with - without) * (x - (with+without)/2) / variance
	}
	return out
}

// logit returns that of the probability e^-loss, away from its ends.
func logit(loss float64) float64 {
	p := math.Max(1e-9, math.Min(1-1e-9, math.Exp(-loss)))
	return math.Log(p / (1 - p))
}

// Steps returns one run of training in which each canary's gradient has a direction of its own:
// one coordinate, as long as gradients are clipped to, or nothing. The attacker sees every
// noisy sum.
func Steps(t dpsgd.Training, canaries int, claim account.Guarantee, seed uint64, progress func(done, of int)) ([]audit.Finding, error) {
	if err := audit.EnoughCanaries(canaries); err != nil {
		return nil, err
	}
	r, c := seeded.New(seed), audit.Guessed{Score: make([]float64, canaries), Second: make([]bool, canaries)}
	for i := range canaries {
		c.Second[i] = r.Uint64()>>63 == 1
	}
	sum := make([]float64, canaries)
	for step := range t.Steps {
		clear(sum)
		for _, i := range t.Partakers(r, canaries) {
			if c.Second[i] {
				sum[i] = t.Clip
			}
		}
		t.Noise(r, sum)
		for i, x := range sum {
			c.Score[i] += x
		}
		progress(step+1, t.Steps)
	}
	return c.Findings(fmt.Sprintf("%d canaries, whose gradients are orthogonal, in the sums of %d steps", canaries, t.Steps), claim)
}
