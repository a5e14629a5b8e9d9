package vector

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// The reference is the zero vector, which is answered with fair bits: it adds nothing to a
// sum, in expectation. Its distance to a vector of norm one is no more than the accountant
// is told.

// StandIn returns the record that r counts as: no features and class -1 for the reference.
func (q *Question) StandIn(r Record) (Record, *question.OutOfDomainError) {
	cause := q.check(r)
	if cause == nil {
		if q.texts() {
			r.Features = q.ordinary() // of no account, and there
		}
		return r, nil
	}
	unfit := &question.OutOfDomainError{Values: 1, Cause: cause}
	if q.plan.Question.Unfit == plan.UnfitClip && errors.Is(cause, errLong) {
		near := append([]float32(nil), r.Features...)
		whiten.Normalize(near)
		return Record{Features: near, Class: r.Class, Number: r.Number}, unfit
	}
	return Record{Class: -1}, unfit
}

var errLong = errors.New("vector: the norm of the features is above 1")

// check says which rule a record breaks.
func (q *Question) check(r Record) error {
	if q.texts() {
		if !slices.ContainsFunc(q.psi(r), func(x float32) bool { return x != 0 }) {
			return errors.New("vector: the text has no word that the public map knows")
		}
	} else if want := q.inputs(); len(r.Features) != want {
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
	case q.mapped():
	case q.scaled() && squares > 1+1e-6:
		return errLong
	case !q.scaled() && squares == 0:
		return errors.New("vector: the features have no direction")
	}
	return nil
}

// inputs returns how many numbers a record has.
func (q *Question) inputs() int {
	switch s := q.state; {
	case s == nil:
	case s.Map != nil:
		return len(s.Map.Mean)
	case s.Inputs != nil && !s.Inputs.Texts():
		return s.Inputs.Numbers()
	}
	return q.ask.Features
}

// ordinary returns features that fit.
func (q *Question) ordinary() []float32 {
	x := make([]float32, q.inputs())
	x[0] = 1
	return x
}
