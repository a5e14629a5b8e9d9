package sgd

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/train/dpsgd"
)

// curated returns a round of somebody who sees the gradients: by DP-SGD, or without noise. A curator
// draws who takes part in each round by independent coins, of which nobody learns; the noise is
// that with which this keeps epsilon, for a respondent who is added or removed.
func (s *study) curated(q *gradient.Question, round int) (*gradient.Model, error) {
	const forRound = 0x53f
	if s.Report == experiments.NoPrivacy {
		who := s.cohort(round)
		return q.Taught(over(nn.ClippedSum(q.Network(), s.Clip, labelled(who), len(who)), len(who)), 0, len(who)), nil
	}
	t := dpsgd.Training{Sampling: float64(s.Users) / float64(len(s.values)), Steps: s.Rounds, Clip: s.Clip}
	var err error
	if t.NoiseMultiplier, err = s.multiplier(t.Sampling); err != nil {
		return nil, err
	}
	sum := t.Sum(seeded.New(s.Seed, forRound, uint64(round)), q.Network(), labelled(s.values), len(s.values))
	return q.Taught(over(sum, s.Users), t.NoiseMultiplier*s.Clip/float64(s.Users), s.Users), nil
}

// labelled are values as examples.
func labelled(of []question.Value) func(i int) ([]float32, int) {
	return func(i int) ([]float32, int) {
		l := of[i].(gradient.Labelled)
		return l.Features, l.Class
	}
}

// over divides in place.
func over(sum []float64, by int) []float64 {
	for i := range sum {
		sum[i] /= float64(by)
	}
	return sum
}

// multiplier returns the noise of a curator, in lengths of a gradient. It is looked for once.
func (s *study) multiplier(sampling float64) (float64, error) {
	if s.curator > 0 {
		return s.curator, nil
	}
	t := calibrate.Target{Users: len(s.values), Rounds: s.Rounds, Epsilon: s.Cell.Epsilon, Delta: s.Delta}
	event := func(noise float64) account.Event {
		return central.SubsampledGaussian{Sampling: sampling, NoiseMultiplier: noise}
	}
	noise, err := t.Search(calibrate.Search{Noise: math.Max(0.5, sampling/t.PerRound()), Most: 1e6, Tolerance: 1e-3}, event)
	if err != nil {
		return 0, err
	}
	g, err := account.Epsilon(account.Repeat{Event: event(noise), Rounds: s.Rounds}, s.Delta)
	if err != nil {
		return 0, err
	}
	s.curator, s.out.Epsilon, s.out.Adjacency, s.out.Trust, s.out.Method = noise, &g.Epsilon, string(g.Adjacency), g.Trust, g.Method
	return noise, nil
}
