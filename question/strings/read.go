package strings

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/treecode/decode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Check is the probability with which a string that nobody holds passes its check, at most.
const Check = decode.Check

// NewTally counts zeros and ones in each row, or has the sums of vectors.
func (q *Question) NewTally() tally.Tally {
	if q.Summed() {
		return tally.NewSums(q.code.Numbers())
	}
	return q.rows.Spec().NewTally()
}

// Model is what was found.
type Model struct {
	Asked       plan.Strings
	Respondents int     // 0 where they were too few, and nothing is known
	Error       float64 // standard error of each number of the sum
	// Answers are how many rows a respondent answered, on average. Where it is far from what the question expects,
	// some are no devices of the plan. It is 0 of sums.
	Answers float64
	Found   []decode.Found // the most frequent first
	// Unfit is how many said the reserved string, whether it stands out or not.
	Unfit estimate.Value
	// FalseAtMost bounds how many of them nobody holds, in expectation.
	FalseAtMost float64
}

// Learn estimates the sum of all vectors, and reads strings out of it.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Asked: q.ask}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m, nil
	}
	m.Respondents = crowds[0].Respondents
	if t, ok := crowds[0].Tally.(*tally.Sums); ok {
		sum := q.scaled(t)
		m.Error = sum.Error
		m.Found, m.Unfit, m.FalseAtMost = decode.Strings(q.code, sum.Vector, m.Error, nil)
		return m, nil
	}
	counted := crowds[0].Tally.(*tally.Counts)
	counts, err := q.rows.CountsOf(counted)
	if err != nil {
		return nil, err
	}
	sum, err := q.rows.Estimate(counts, m.Respondents)
	if err != nil {
		return nil, err
	}
	for _, n := range counted.N {
		m.Answers += float64(n) / float64(m.Respondents)
	}
	m.Error = math.Hypot(sum.Error, q.rows.Spec().Clipping(m.Respondents, q.seen(sum, m.Respondents)))
	m.Found, m.Unfit, m.FalseAtMost = decode.Strings(q.code, sum.Vector, m.Error, q.rows.Spec().Excess)
	return m, nil
}

// seen returns how alike the vectors of these respondents are, at most, from their own sum: what is clipped grows with it.
//
// Vectors have entries of at least zero. So the squares of the sum's positions are those of the noise, and the mean over
// pairs of respondents of x, by which their positions are alike. Pairs of symbols add at most b, their share of the
// length, and (x+b)^k is at most b^k + (1-b^k) x/(1-b), as it is convex. What clipping adds to the squares, and three
// deviations of the noise, are left in: they raise it.
func (q *Question) seen(sum vector.Sum, respondents int) (o vector.Overlap) {
	numbers := q.code.Numbers() - q.code.Pairing()
	squares := 0.0
	for _, x := range sum.Vector[:numbers] {
		squares += x * x
	}
	n, variance := float64(respondents), sum.Error*sum.Error
	squares = math.Max(0, squares-float64(numbers)*variance)
	squares += 3 * math.Sqrt(2*float64(numbers)*variance*variance+4*variance*squares)
	b := q.code.Pairs
	x := math.Min(1, squares/(n*n*(1-b)))
	for k := range o {
		most := math.Pow(b, float64(3+2*k))
		o[k] = most + (1-most)*x
	}
	return o
}

// Interval returns that of a string by itself, at a level.
func (m *Model) Interval(i int, level float64) (low, high float64) {
	return m.Found[i].Interval(1 - level)
}

// IntervalAtOnce returns one of those that hold for all strings that were found, at a level.
func (m *Model) IntervalAtOnce(i int, level float64) (low, high float64) {
	return m.Found[i].IntervalAtOnce((1 - level) / float64(len(m.Found)))
}
