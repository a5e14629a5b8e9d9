package gradient

import (
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// table has two numbers for each row of a rotated gradient.
func (v vectors) table() question.Table {
	s := v.mechanism.Spec()
	return question.Table{Channels: s.Rows, Symbols: 2, Most: s.Envelopes}
}

var errDirections = errors.New(`gradient: directions say nothing in sum: ask for question.gradient.report.name = "vector"`)

func (q *Question) table() (question.Table, error) {
	v, ok := q.report.(vectors)
	if !ok {
		return question.Table{}, errDirections
	}
	return v.table(), nil
}

// Circuit returns the circuit of flipped bits, or the one that proves the length of a gradient.
func (q *Question) Circuit() (plan.Circuit, error) {
	if v, ok := q.report.(proved); ok {
		return v.whole.Circuit(), nil
	}
	t, err := q.table()
	if err != nil {
		return plan.Circuit{}, err
	}
	return t.Circuit(), nil
}

// Measure returns the gradient in whole numbers, or the bits of the rows that the device answers.
func (q *Question) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	if v, ok := q.report.(proved); ok {
		g, ok := s.(symbol)
		if !ok {
			return 0, nil, errors.New("gradient: what is split is no gradient of the plan's")
		}
		return 0, v.measured(r, g), nil
	}
	t, err := q.table()
	if err != nil {
		return 0, nil, err
	}
	return t.Measured(q, r, s, m)
}

// Sums reads the sums of bits, or of gradients with noise.
func (q *Question) Sums(sums []int64, respondents int) (tally.Tally, error) {
	if v, ok := q.report.(proved); ok {
		return tally.SumsOf(sums, v.whole.Rows())
	}
	t, err := q.table()
	if err != nil {
		return nil, err
	}
	return t.Counts(sums, respondents)
}
