package vector

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// NewTally counts zeros and ones in each row.
func (q *Question) NewTally() tally.Tally { return q.spec().NewTally() }

// Model is what the counts of a round say: the sum of all vectors.
type Model struct {
	Plan        [32]byte // the hash of the one that was asked
	Round       int      // of the study; 0: the plan is by itself
	Asked       plan.Vector
	Sums        string // what the vectors are made of
	Respondents int    // 0 where they were too few, and nothing is known
	Sum         []float64
	Error       float64 // standard error of each coordinate: of the bits, and of clipping
	Bits        float64 // of that, the bits'
	// Answers are how many rows a respondent answered, on average. Where it is far from what the question
	// expects, some are no devices of the plan.
	Answers float64
	State   *State // that the round asked with; nil: none
}

// Shape is of the features and classes.
func (m *Model) Shape() features.Shape { return shape(m.Asked) }

// Expected returns how many rows each of so many respondents answers on average by the plan, with the deviation
// that the coins leave.
func (q *Question) Expected(respondents int) estimate.Value {
	s := q.spec()
	share := float64(s.Answered) / float64(s.Rows)
	return estimate.Value{Mean: float64(s.Answered), StdErr: math.Sqrt(float64(s.Answered) * (1 - share) / float64(respondents))}
}

// Coordinates returns how many a sum has.
func (q *Question) Coordinates() int { return q.spec().Dimension }

// Made returns what the vectors of the round are made of.
func (q *Question) Made() string { return q.round.Sums }

// Learn estimates the sum.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	m := &Model{Plan: q.plan.Hash(), Asked: q.ask, Sums: q.round.Sums, State: q.state}
	if q.plan.Round != nil {
		m.Round = q.plan.Round.Number
	}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return m, nil
	}
	sum, err := q.sum(crowds[0])
	if err != nil {
		return nil, err
	}
	m.Respondents, m.Sum, m.Bits = crowds[0].Respondents, sum.Vector, sum.Error
	for _, n := range crowds[0].Tally.(*tally.Counts).N {
		m.Answers += float64(n) / float64(m.Respondents)
	}
	m.Error = math.Hypot(sum.Error, q.spec().Clipping(m.Respondents, overlap(q.ask, q.round)))
	return m, nil
}

func (q *Question) sum(c tally.Crowd) (vector.Sum, error) {
	counts, err := q.rows.CountsOf(c.Tally.(*tally.Counts))
	if err != nil {
		return vector.Sum{}, err
	}
	return q.rows.Estimate(counts, c.Respondents)
}

// Estimate returns the sum, coordinate by coordinate.
func (q *Question) Estimate(c tally.Crowd) []estimate.Value {
	sum, err := q.sum(c)
	if err != nil {
		return nil
	}
	clipping := q.spec().Clipping(c.Respondents, overlap(q.ask, q.round))
	out := make([]estimate.Value, len(sum.Vector))
	for i, x := range sum.Vector {
		out[i] = estimate.Value{Mean: x, StdErr: math.Hypot(sum.Error, clipping)}
	}
	return out
}
