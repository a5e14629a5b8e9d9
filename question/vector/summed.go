package vector

import (
	"errors"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// table returns two numbers for each row, that it was answered with a zero and with a one:
// which rows a device answers stays as secret as in a mixed batch.
func (q *Question) table() question.Table {
	return question.Table{Channels: q.spec().Rows, Symbols: 2, Most: q.spec().Envelopes}
}

// Circuit proves how long a vector is, or is of the round with the most rows: vectors of others end with zeros.
func (q *Question) Circuit() (plan.Circuit, error) {
	if q.whole != nil {
		return q.whole.Circuit(), nil
	}
	most := question.Table{Symbols: 2}
	for _, s := range q.specs {
		most.Channels, most.Most = max(most.Channels, s.Rows), max(most.Most, s.Envelopes)
	}
	return most.Circuit(), nil
}

// Measure returns the vector in whole numbers, or the bits of the rows that the device answers.
func (q *Question) Measure(r *rand.Rand, s question.Symbol, m question.Memory) (crowd int, vector []uint64, err error) {
	if q.whole != nil {
		v, ok := s.([]float32)
		if !ok {
			return 0, nil, errors.New("vector: what is split is no vector of the plan's")
		}
		return 0, q.whole.Measured(r, v), nil
	}
	crowd, vector, err = q.table().Measured(q, r, s, m)
	if err != nil {
		return 0, nil, err
	}
	c, err := q.Circuit()
	return crowd, append(vector, make([]uint64, c.Length-len(vector))...), err
}

// Sums returns those of the bits, or of the vectors with noise.
func (q *Question) Sums(sums []int64, respondents int) (tally.Tally, error) {
	if q.whole != nil {
		return tally.SumsOf(sums, q.whole.Rows())
	}
	length := q.table().Circuit().Length
	if len(sums) > length {
		sums = sums[:length]
	}
	return q.table().Counts(sums, respondents)
}
