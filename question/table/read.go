package table

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
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
	n := crowds[0].Respondents
	m.Sums = q.Sums(n, sum.Vector, q.rows.Spec().Deviation(n, alike(q.code.Shape, n, sum.Vector)))
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

// alike bounds how alike the vectors of n people are, by the sum of their vectors. With x the mean of two records' products
// of corners, their vectors have a product of at most g(|x|) = m |x| + (1-m) x^2, m the share of columns by themselves. The
// sum tells the means of x and x^2. Of all x from 0 to 1 with these g^k has the largest mean where x has two values, and one
// is 1. Noise in the sum stays: it makes the bound larger.
func alike(s crosscode.Shape, n int, sum []float64) (o vector.Overlap) {
	column, pair := s.Weights()
	columns, people := float64(len(s.Sizes)), float64(n)
	at, mean, square := 0, 0.0, 0.0
	squared := func(numbers []float64, weight float64) (all float64) {
		for _, v := range numbers {
			all += v * v / (weight * weight * people * people)
		}
		return all
	}
	for _, k := range s.Sizes {
		agree, t := squared(sum[at:at+k-1], column), 1/float64(k-1)
		mean += agree / columns
		square += (t + (1-t)*agree) / (columns * columns)
		at += k - 1
	}
	square = min(1, square+2*squared(sum[at:], pair)/(columns*columns))
	mean = min(mean, math.Sqrt(square))
	if mean >= 1 {
		return vector.Overlap{1, 1, 1}
	}
	variance := square - mean*mean
	same, rest := variance/(variance+(1-mean)*(1-mean)), mean-variance/(1-mean)
	for i := range o {
		o[i] = square // no more than one value is possible below 1 where the rest would be negative
		if rest >= 0 {
			o[i] = same + (1-same)*math.Pow(s.Main*rest+(1-s.Main)*rest*rest, float64(3+2*i))
		}
	}
	return o
}

// liar returns about how many respondents one counts for in one cell, who answers all its rows as it likes. It is of one
// direction, chosen beforehand, and no bound over all cells.
func (q *Question) liar() float64 {
	s := q.rows.Spec()
	_, pair := q.code.Weights()
	most := math.Sqrt(2 * math.Log(float64(s.Rows))) // of a row in a direction, in its deviations
	return s.Clip * most / (s.Gain() * (1 - 2*s.Flip) * pair)
}
