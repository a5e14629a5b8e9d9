package strings

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/treecode/decode"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// False is the share by which each test of a string bounds what is found and nobody holds.
const False = decode.False

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
	Found   []decode.Found // the most frequent first; of an empty text is the reserved string
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
		m.Found = decode.Strings(q.code, sum.Vector, m.Error)
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
	m.Error = math.Hypot(sum.Error, q.rows.Spec().Clipping(m.Respondents, overlap()))
	m.Found = decode.Strings(q.code, sum.Vector, m.Error)
	return m, nil
}

// Interval returns that of a string by itself, at a level.
func (m *Model) Interval(i int, level float64) (low, high float64) {
	return m.Found[i].Interval(1 - level)
}

// IntervalAtOnce returns one of those that hold for all strings that were found, at a level.
func (m *Model) IntervalAtOnce(i int, level float64) (low, high float64) {
	return m.Found[i].IntervalAtOnce((1 - level) / float64(len(m.Found)))
}
