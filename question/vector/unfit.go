package vector

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/encode/whiten"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// The reference is the zero vector, which is answered with fair bits: it adds nothing to a
// sum, in expectation. Its distance to a vector of norm one is no more than the accountant
// is told.

// StandIn is the record that r counts as: no features and class -1 for the reference.
func (q *Question) StandIn(r Record) (Record, *question.UnfitError) {
	cause := q.check(r)
	if cause == nil {
		return r, nil
	}
	unfit := &question.UnfitError{Values: 1, Cause: cause}
	if q.plan.Question.Unfit == plan.UnfitClip && errors.Is(cause, errLong) {
		near := append([]float32(nil), r.Features...)
		whiten.Normalize(near)
		return Record{near, r.Class, r.Number}, unfit
	}
	return Record{Class: -1}, unfit
}

var errLong = errors.New("vector: the norm of the features is above 1")

// check says which rule a record breaks.
func (q *Question) check(r Record) error {
	if want := q.inputs(); len(r.Features) != want {
		return fmt.Errorf("vector: the record has not the plan's %d features", want)
	}
	squares := 0.0
	for _, x := range r.Features {
		squares += float64(x) * float64(x)
	}
	switch {
	case math.IsNaN(squares) || math.IsInf(squares, 0):
		return errors.New("vector: a feature is not finite")
	case len(q.ask.Classes) > 0 && (r.Class < 0 || r.Class >= len(q.ask.Classes)):
		return fmt.Errorf("vector: the class is not one of the plan's %d", len(q.ask.Classes))
	case q.ask.Number != nil && r.Number-r.Number != 0:
		return errors.New("vector: the number is not finite")
	case q.scaled() && squares > 1+1e-6:
		return errLong
	case !q.scaled() && squares == 0 && (q.state == nil || q.state.Map == nil):
		return errors.New("vector: the features have no direction")
	}
	return nil
}

// inputs is how many numbers a record has.
func (q *Question) inputs() int {
	if q.state != nil && q.state.Map != nil {
		return len(q.state.Map.Mean)
	}
	return q.ask.Features
}

// ordinary are features that fit.
func (q *Question) ordinary() []float32 {
	x := make([]float32, q.inputs())
	x[0] = 1
	return x
}
