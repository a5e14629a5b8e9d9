package table

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// NewTally counts zeros and ones in each row.
func (q *Question) NewTally() tally.Tally { return q.rows.Spec().NewTally() }

// Model is what was learned.
type Model struct {
	Asked plan.Crosstab
	Sums  *tables.Sums // nil where respondents were too few
}

// Learn estimates the sum of all vectors.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Asked: q.ask}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m, nil
	}
	counts, err := q.rows.CountsOf(crowds[0].Tally.(*tally.Counts))
	if err != nil {
		return nil, err
	}
	sum, err := q.rows.Estimate(counts, crowds[0].Respondents)
	if err != nil {
		return nil, err
	}
	m.Sums = q.Sums(crowds[0].Respondents, sum.Vector, q.deviation(crowds[0].Respondents))
	return m, nil
}

// Sums returns what a sum of vectors tells.
func (q *Question) Sums(respondents int, vector []float64, err float64) *tables.Sums {
	s := tables.New(q.code, respondents, vector, err)
	for _, c := range q.ask.Columns {
		s.Ordered = append(s.Ordered, len(c.Cuts) > 0)
	}
	return s
}

// deviation returns the standard error of a number of the sum, of so many respondents.
func (q *Question) deviation(respondents int) float64 {
	return q.rows.Spec().Deviation(respondents, overlap(q.code.Shape))
}

// liar returns how many respondents one counts for at most in one table, who answers all its rows as it likes.
func (q *Question) liar() float64 {
	s := q.rows.Spec()
	_, pair := q.code.Weights()
	most := math.Sqrt(2 * math.Log(float64(s.Rows))) // of a row in a direction, in its deviations
	return s.Clip * most / (s.Gain() * (1 - 2*s.Flip) * pair)
}
