package sgd

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/protocol"
)

// hostile returns how many of a cohort lie.
func (s *study) hostile() int { return int(math.Round(s.Liars * float64(s.Users))) }

// lie adds liars' reports to those of honest devices, in the direction that the cell names. Each liar sends the longest
// gradient that its proof allows, or all its envelopes full of bits.
func (s *study) lie(proto *protocol.Protocol, honest []question.Value, crowd *tally.Crowd, round int) error {
	q := proto.Question.(*gradient.Question)
	toward, err := s.toward(q, honest, *crowd)
	if err != nil {
		return err
	}
	symbol := gradient.Along(toward)
	crowd.Respondents += s.hostile()
	switch t := crowd.Tally.(type) {
	case *tally.Sums:
		_, whole, err := q.Measure(seeded.New(s.Seed, forLiars, uint64(round)), symbol, nil)
		if err != nil {
			return err
		}
		for i, x := range distribution.Longest(proto.Plan.Route.Sum.Circuit, whole) {
			t.N[i] += int64(s.hostile()) * int64(x)
		}
	case *tally.Counts:
		distribution.Fill(t.N, q.Ones(symbol), s.hostile()*proto.Plan.Envelopes.PerDevice)
	default:
		return fmt.Errorf("liars: no lie is known of reports of %s", s.Report)
	}
	return nil
}

const (
	forLiars = 0x52f
	// asked is of how many honest devices liars know what they would say of another class.
	asked = 2000
)

// toward returns where liars pull the model, in the length that gradients are clipped to, as the cell's Lie says.
func (s *study) toward(q *gradient.Question, honest []question.Value, crowd tally.Crowd) (sum []float64, err error) {
	switch s.Lie {
	case "against", "back":
		if s.first == nil || s.Lie == "against" {
			if s.first, err = q.Mean(crowd); err != nil {
				return nil, err
			}
		}
		for _, x := range s.first {
			sum = append(sum, -x)
		}
	case "next":
		sum, err = s.ofClasses(q, honest, func(class int) int { return (class + 1) % len(s.classes) })
	case "one":
		sum, err = s.ofClasses(q, honest, func(int) int { return 0 })
	}
	if err != nil {
		return nil, err
	}
	squares := 0.0
	for _, x := range sum {
		squares += x * x
	}
	for i := range sum {
		sum[i] *= s.Clip / math.Sqrt(squares) * (1 - 1e-6)
	}
	return sum, nil
}

// ofClasses returns the sum of what honest devices would say if their examples were of other classes.
func (s *study) ofClasses(q *gradient.Question, honest []question.Value, other func(class int) int) ([]float64, error) {
	sum := make([]float64, q.Params())
	for _, v := range honest[:min(asked, len(honest))] {
		l := v.(gradient.Labelled)
		l.Class = other(l.Class)
		symbol, err := q.Encode(l)
		if err != nil {
			return nil, err
		}
		for i, x := range gradient.Told(symbol) {
			sum[i] += x
		}
	}
	return sum, nil
}
