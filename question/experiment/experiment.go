// Package experiment asks how much more people of one arm have of a metric than those of another (docs/experiments.md).
// Used by question/all, protocol/design, internal/release/results and internal/simulate.
package experiment

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/plan"
)

func init() { registry.Register("experiment", validate, newQuestion) }

// Record is what a respondent holds: its arm, by number, and by metric the metric itself, what was known before, and what it
// is divided by, where the plan names these.
type Record = lift.Person

// Question is a plan's, made runnable.
type Question struct {
	plan plan.Plan
	ask  plan.Experiment
	rows *vector.Mechanism // nil: vectors are summed
}

// newQuestion makes the question of a valid plan runnable.
func newQuestion(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Experiment}
	if p.Route.Sum != nil {
		return q, nil
	}
	spec, err := specOf(p, q.ask)
	if err != nil {
		return nil, err
	}
	q.rows, err = vector.New(spec)
	return q, err
}

// specOf returns the mechanism of answers that are mixed.
func specOf(p plan.Plan, ask plan.Experiment) (vector.Spec, error) {
	b := *ask.Bits
	s := vector.Spec{
		Dimension: lift.Numbers(ask), Rows: b.Rows, Answered: b.Answered, Envelopes: min(p.MostMessages(), b.Rows),
		Clip: b.Clip, Flip: b.Flip, SquaredDistance: lift.SquaredGap, Rare: b.Rare, Few: true,
	}
	var err error
	if s.Seed, err = encode.ParseSeed(ask.Seed); err != nil {
		return s, fmt.Errorf("experiment: %w", err)
	}
	return s, s.Validate()
}

// Rows returns the mechanism of answers that are mixed, nil of others.
func (q *Question) Rows() *vector.Mechanism { return q.rows }

// Encode writes the vector of a record. One that does not fit is answered as zero, which adds nothing to any arm.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	r, ok := v.(Record)
	if !ok {
		return nil, fmt.Errorf("experiment: takes a Record, not %T", v)
	}
	unfit := q.Unfit(r)
	if q.rows == nil {
		out := make([]uint64, lift.Numbers(q.ask))
		if unfit != nil {
			return out, unfit
		}
		lift.Whole(q.ask, r.Arm, r.Numbers, out)
		return out, nil
	}
	out := make([]float32, lift.Numbers(q.ask))
	if unfit != nil {
		return out, unfit
	}
	q.Write(r, out)
	return out, nil
}

// Unfit says why a record does not fit, nil of one that does.
func (q *Question) Unfit(r Record) *question.OutOfDomainError {
	if err := lift.Check(q.ask, r.Arm, r.Numbers); err != nil {
		return &question.OutOfDomainError{Values: 1, Cause: err}
	}
	return nil
}

// Write writes the vector of a record that fits, to zeros.
func (q *Question) Write(r Record, out []float32) { lift.Write(q.ask, r.Arm, r.Numbers, out) }

var errSplit = errors.New("experiment: what is summed is split (Measure), and not randomized")

// Randomize answers rows that it draws and tells nobody. What is sent of them is final.
func (q *Question) Randomize(r *rand.Rand, symbol question.Symbol, _ question.Memory) (question.Report, error) {
	if q.rows == nil {
		return question.Report{}, errSplit
	}
	return question.Report{Parts: [][][]byte{q.rows.Bodies(r, symbol.([]float32))}}, nil
}

// Ones gives the probability, by row, that an answer to it is a one when a device holds the symbol; nil of vectors that are
// summed.
func (q *Question) Ones(s question.Symbol) []float64 {
	if q.rows == nil {
		return nil
	}
	ones := make([]float64, q.ask.Bits.Rows)
	q.rows.Ones(s.([]float32), ones)
	return ones
}

// Circuit proves that each number of a vector is in its range.
func (q *Question) Circuit() (plan.Circuit, error) {
	if q.plan.Route.Sum.Noise == plan.NoiseDevices {
		return plan.Circuit{}, fmt.Errorf("experiment: sums of numbers have noise of aggregators: set route.sum.noise to %q or %q", plan.NoiseAggregators, plan.NoiseShared)
	}
	return plan.Circuit{Kind: plan.CircuitSumVec, Length: lift.Numbers(q.ask), Max: lift.Scale}, nil
}

// Measure returns the vector in whole numbers.
func (q *Question) Measure(_ *rand.Rand, s question.Symbol, _ question.Memory) (crowd int, vector []uint64, err error) {
	return 0, s.([]uint64), nil
}

// Sums returns those of the vectors, with noise.
func (q *Question) Sums(sums []int64, _ int) (tally.Tally, error) {
	return tally.SumsOf(sums, lift.Numbers(q.ask))
}
