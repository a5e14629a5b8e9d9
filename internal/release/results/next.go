package results

import (
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
)

// Next returns what the next round of a study asks with, given what a round has taught: nil where
// it asks with the same state as this one. The next state of sums of vectors takes a classifier,
// which devices do not carry. It is therefore made here, and not by the question.
func Next(q question.Question, m question.Model) (state []byte, done bool, err error) {
	if v, ok := m.(*vector.Model); ok {
		if v.Sums != plan.SumsMoments && v.Sums != plan.SumsGradients {
			return nil, false, nil
		}
		l, err := NewLinear(v, blas32.General{})
		if err != nil {
			return nil, false, err
		}
		return l.next(), false, nil
	}
	if s, ok := q.(question.Stepper); ok {
		return s.Next(m)
	}
	return nil, false, nil
}

// Missed returns what the next round of a study asks with after one that told nothing, and why; nil where it asks with
// the same state.
func Missed(q question.Question, why string) ([]byte, error) {
	if m, ok := q.(question.Misser); ok && why != "" {
		return m.Missed(why)
	}
	return nil, nil
}
