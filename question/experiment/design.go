package experiment

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in what follows from the rest of a plan: the noise that aggregators add, or the flips and envelopes of bits.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Question.Experiment == nil {
		return p, errors.New("experiment: the plan has no experiment section")
	}
	ask := *p.Question.Experiment // the caller's stays as it is
	p.Question.Experiment = &ask
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	ask.Looks, ask.Look = max(1, ask.Looks), max(1, ask.Look)
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	if p.Route.Sum != nil {
		s, err := sumprivacy.CalibrateVectors(p, 1, lift.SquaredShift(ask), lift.Numbers(ask))
		p.Route.Sum = &s
		return p, err
	}
	bits := plan.BitsSent{Answered: lift.UsualBits}
	if ask.Bits != nil {
		bits.Answered = ask.Bits.Answered
	}
	n := vector.Need{
		Respondents: p.Crowd.Minimum, Honest: p.MinHonest(), Dimension: lift.Numbers(ask), Bits: bits.Answered,
		SquaredDistance: lift.SquaredGap, Reach: lift.Reach(ask),
	}
	var err error
	if n.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return p, err
	}
	made, err := n.Design(p.Budget.Epsilon, p.Budget.Delta)
	if err != nil {
		return p, err
	}
	bits.Rows, bits.Clip, bits.Flip, bits.Rare = made.Rows, made.Clip, made.Flip, made.Rare
	ask.Bits = &bits
	if p.Envelopes.PerDevice = made.Envelopes; made.Envelopes > plan.MaxEnvelopes {
		return p, &question.TooManyMessages{PerDevice: made.Envelopes}
	}
	return p, nil
}
