package table

import (
	"errors"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

const (
	usualAnswered = 8192
	spare         = 500 // rows that show the error: its deviation is known within 3.2 %
)

// Design fills in what follows from the rest of a plan: the share of columns by themselves, and the clip, the flips and
// the envelopes that keep the budget; or the noise of sums.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Question.Table == nil {
		return p, errors.New("table: the plan has no table section")
	}
	ask := *p.Question.Table // the caller's stays as it is
	p.Question.Table = &ask
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	var ps plan.Problems
	if undesigned(p, &ps); ps.Err() != nil {
		return p, ps.Err()
	}
	if summed(p) {
		if err := shape(ask).Validate(); err != nil {
			return p, err
		}
		return designSummed(p, shape(ask))
	}
	if ask.Answered == 0 {
		ask.Answered = usualAnswered
	}
	if ask.Main == 0 {
		ask.Main = crosscode.Main(len(ask.Columns))
	}
	s := shape(ask)
	if err := s.Validate(); err != nil {
		return p, err
	}
	n := vector.Need{
		Respondents: p.Crowd.Minimum, Honest: p.MinHonest(), Dimension: s.Numbers(), Spare: spare, Bits: ask.Answered,
		SquaredDistance: s.SquaredDistance(), Overlap: overlap(s),
	}
	var err error
	if n.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return p, err
	}
	made, err := n.Design(p.Budget.Epsilon, p.Budget.Delta)
	if err != nil {
		return p, err
	}
	ask.Rows, ask.Clip, ask.Flip, ask.Rare = made.Rows, made.Clip, made.Flip, made.Rare
	if p.Envelopes.PerDevice = made.Envelopes; made.Envelopes > plan.MaxEnvelopes {
		return p, &question.TooManyMessages{PerDevice: made.Envelopes}
	}
	return p, nil
}

// overlap returns how alike the vectors of two people are guessed to be, before anybody answers: values are held as by
// Zipf's law, and columns tell nothing of each other. A release measures its error.
func overlap(s crosscode.Shape) vector.Overlap {
	return s.Alike(func(size int) float64 {
		sum, squares := 0.0, 0.0
		for i := range size {
			x := 1 / float64(i+1)
			sum += x
			squares += x * x
		}
		return squares / (sum * sum)
	})
}
