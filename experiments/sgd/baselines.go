package sgd

import (
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/gradient"
)

// curated is a round of somebody who sees the gradients: with normal noise (Abadi et al. 2016,
// Algorithm 1), or without. A curator draws who takes part in each round by independent
// coins, of which nobody learns; the noise is that with which this keeps epsilon, for a
// respondent who is added or removed.
func (s *study) curated(proto *protocol.Protocol, round int) (*gradient.Model, error) {
	const forSampling, forNoise = 0x53f, 0x540
	q, who, expected := proto.Question.(*gradient.Question), s.cohort(round), s.Users
	if s.Report == experiments.NoPrivacy {
		return q.Taught(s.mean(q, who, float64(len(who))), 0, len(who)), nil
	}
	sampling := float64(s.Users) / float64(len(s.values))
	multiplier, err := s.multiplier(sampling)
	if err != nil {
		return nil, err
	}
	if sampling < 1 {
		r := replay.New(s.Seed, forSampling, uint64(round))
		who = who[:0]
		for _, v := range s.values {
			if r.Float64() < sampling {
				who = append(who, v)
			}
		}
	}
	mean := s.mean(q, who, float64(expected))
	noise, r := multiplier*s.Clip/float64(expected), replay.New(s.Seed, forNoise, uint64(round))
	for i := range mean {
		mean[i] += noise * r.NormFloat64()
	}
	return q.Taught(mean, noise, len(who)), nil
}

// mean is the sum of the clipped gradients over a number, in batches.
func (s *study) mean(q *gradient.Question, who []question.Value, over float64) []float64 {
	const batch = 250
	net, k := q.Network(), len(s.classes)
	pass, sum := nn.NewPass(net), make([]float32, len(net.Params))
	total := make([]float64, len(sum))
	for from := 0; from < len(who); from += batch {
		part := who[from:min(len(who), from+batch)]
		x, targets := make([]float32, 0, len(part)*s.dimension), make([]float32, len(part)*k)
		for i, v := range part {
			l := v.(gradient.Labelled)
			x = append(x, l.Features...)
			targets[i*k+l.Class] = 1
		}
		dy := make([]float32, len(targets))
		nn.CrossEntropy(pass.Forward(x, len(part)), targets, dy, k)
		pass.Backward(dy)
		clear(sum)
		pass.Clipped(s.Clip, sum)
		for i, v := range sum {
			total[i] += float64(v) / over
		}
	}
	return total
}

// multiplier is the noise of a curator, in lengths of a gradient. It is looked for once.
func (s *study) multiplier(sampling float64) (float64, error) {
	if s.curator > 0 {
		return s.curator, nil
	}
	t := account.Target{Users: len(s.values), Rounds: s.Rounds, Epsilon: s.Cell.Epsilon, Delta: s.Delta}
	event := func(noise float64) account.Event {
		return additive.SubsampledGaussian{Sampling: sampling, NoiseMultiplier: noise}
	}
	noise, err := t.Search(account.Search{Noise: math.Max(0.5, sampling/t.PerRound()), Most: 1e6, Tolerance: 1e-3}, event)
	if err != nil {
		return 0, err
	}
	g, err := account.Epsilon(account.Repeat{Event: event(noise), Rounds: s.Rounds}, s.Delta)
	if err != nil {
		return 0, err
	}
	s.curator, s.out.Epsilon, s.out.Adjacency, s.out.Method = noise, &g.Epsilon, string(g.Adjacency), g.Method
	return noise, nil
}
