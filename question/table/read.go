package table

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// NewTally counts zeros and ones in each row, or has the sums of cells.
func (q *Question) NewTally() tally.Tally {
	if q.Summed() {
		return tally.NewSums(q.code.Cells())
	}
	return q.rows.Spec().NewTally()
}

// Model is what was learned.
type Model struct {
	Asked plan.Crosstab
	Sums  *tables.Sums // nil where respondents were too few
}

// Learn estimates the sum of all vectors, twice: rows that look like what the first reading tells say what clipping took,
// which the second puts back. The error is that of numbers that no vector has. Of sums it is that of the noise.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Asked: q.ask}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m, nil
	}
	n := crowds[0].Respondents
	if t, ok := crowds[0].Tally.(*tally.Sums); ok {
		var err error
		m.Sums, err = q.known(t, n)
		return m, err
	}
	counts, err := q.rows.CountsOf(crowds[0].Tally.(*tally.Counts))
	if err != nil {
		return nil, err
	}
	sum, err := q.rows.Estimate(counts, n)
	if err != nil {
		return nil, err
	}
	like := q.Known(n, sum.Vector, sum.Spare).Rows(encode.Expand(q.rows.Spec().Seed, "table/models"), q.models(n))
	sum, err = q.rows.EstimateLike(counts, n, len(like), func(i int, v []float32) { q.code.Write(like[i], v) })
	if err != nil {
		return nil, err
	}
	m.Sums = q.Known(n, sum.Vector, sum.Spare)
	return m, nil
}

const (
	fewestModels = 500
	mostModels   = 40_000
	eachModel    = 8 // answers to a row, on average: chance among models is then about 1 % of the variance of bits
)

// models returns how many rows stand for n respondents.
func (q *Question) models(n int) int {
	s := q.rows.Spec()
	return max(fewestModels, min(mostModels, int(float64(n)*float64(s.Answered)/float64(s.Rows)/eachModel)))
}

// Known returns what a sum of vectors tells, whose error was estimated of the numbers that no vector has, or follows from
// the plan's noise.
func (q *Question) Known(respondents int, vector []float64, err float64) *tables.Sums {
	s := tables.New(q.code, respondents, vector, err)
	if !q.Summed() {
		s.Spare = q.ask.Rows - q.code.Numbers()
	}
	for _, c := range q.ask.Columns {
		s.Ordered = append(s.Ordered, len(c.Cuts) > 0)
	}
	return s
}

// liar returns about how many respondents one counts for in one cell, who answers all its rows as it likes. It is of one
// direction, chosen beforehand, and no bound over all cells.
func (q *Question) liar() float64 {
	s, pair := q.rows.Spec(), q.code.PairWeight(0, 1)
	most := math.Sqrt(2 * math.Log(float64(s.Rows))) // of a row in a direction, in its deviations
	return s.Clip * most / (s.Gain() * (1 - 2*s.Flip) * pair)
}
