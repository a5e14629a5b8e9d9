package vector

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// NewTally counts zeros and ones in each row, or sums.
func (q *Question) NewTally() tally.Tally {
	if q.whole != nil {
		return tally.NewSums(q.whole.Rows())
	}
	return q.spec().NewTally()
}

// Model is what the counts of a round say: the sum of all vectors.
type Model struct {
	Plan        [32]byte // the hash of the one that was asked
	Round       int      // of the study; 0: the plan is by itself
	Asked       plan.Vector
	Sums        string // what the vectors are made of
	Respondents int    // 0 where they were too few, and nothing is known
	Sum         []float64
	Error       float64 // standard error of each coordinate: of the bits, and of clipping
	Bits        float64 // of that, the bits', or the aggregators' noise and that of rounding
	// Answers are how many rows a respondent answered, on average; 0 of vectors whose length is proved. Where it is far from what the question
	// expects, some are no devices of the plan.
	Answers float64
	State   *State // that the round asked with; nil: none
}

// Shape returns that of the features and classes.
func (m *Model) Shape() features.Shape { return shape(m.Asked) }

// Expected returns how many rows each of so many respondents answers on average by the plan, with the deviation
// that the coins leave.
func (q *Question) Expected(respondents int) estimate.Value {
	s := q.spec()
	share := float64(s.Answered) / float64(s.Rows)
	return estimate.Value{Mean: float64(s.Answered), StdErr: math.Sqrt(float64(s.Answered) * (1 - share) / float64(respondents))}
}

// Coordinates returns how many a sum has.
func (q *Question) Coordinates() int {
	if q.whole != nil {
		return q.whole.Dimension()
	}
	return q.spec().Dimension
}

// Proved says that devices prove the length of their vectors.
func (q *Question) Proved() bool { return q.whole != nil }

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
	found, err := q.sum(crowds[0])
	if err != nil {
		return nil, err
	}
	m.Respondents, m.Sum, m.Bits = crowds[0].Respondents, found.Vector, found.Error
	if q.whole != nil {
		m.Error = found.Error
		return m, nil
	}
	for _, n := range crowds[0].Tally.(*tally.Counts).N {
		m.Answers += float64(n) / float64(m.Respondents)
	}
	m.Error = math.Hypot(found.Error, q.spec().Clipping(m.Respondents, overlap(q.ask, q.round)))
	return m, nil
}

func (q *Question) sum(c tally.Crowd) (vector.Sum, error) {
	if q.whole != nil {
		return q.whole.Estimate(c.Tally.(*tally.Sums).N, c.Respondents, vector.BothNoises(*q.plan.Route.Sum))
	}
	counts, err := q.rows.CountsOf(c.Tally.(*tally.Counts))
	if err != nil {
		return vector.Sum{}, err
	}
	return q.rows.Estimate(counts, c.Respondents)
}

// Estimate returns the sum, coordinate by coordinate.
func (q *Question) Estimate(c tally.Crowd) []estimate.Value {
	found, err := q.sum(c)
	if err != nil {
		return nil
	}
	clipping := 0.0
	if q.whole == nil {
		clipping = q.spec().Clipping(c.Respondents, overlap(q.ask, q.round))
	}
	out := make([]estimate.Value, len(found.Vector))
	for i, x := range found.Vector {
		out[i] = estimate.Value{Mean: x, StdErr: math.Hypot(found.Error, clipping)}
	}
	return out
}
