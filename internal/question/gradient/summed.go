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

var errDirections = errors.New(`gradient: directions say nothing in sum: ask for question.gradient.report.name = "vector", with route.sum.noise = "devices"`)

func (q *Question) table() (question.Table, error) {
	v, ok := q.report.(vectors)
	if !ok || q.plan.Route.Sum.Noise != plan.NoiseDevices {
		return question.Table{}, errDirections
	}
	return v.table(), nil
}

// Circuit is of flipped bits.
func (q *Question) Circuit() (plan.Circuit, error) {
	t, err := q.table()
	if err != nil {
		return plan.Circuit{}, err
	}
	return t.Circuit(), nil
}

// Measure returns the bits of the rows that the device answers.
func (q *Question) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	t, err := q.table()
	if err != nil {
		return 0, nil, err
	}
	return t.Measured(q, r, s, m)
}

// Sums returns those of the bits.
func (q *Question) Sums(sums []int64, respondents int) (tally.Tally, error) {
	t, err := q.table()
	if err != nil {
		return nil, err
	}
	return t.Counts(sums, respondents)
}
