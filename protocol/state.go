package protocol

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// WithState makes a plan runnable that names a public state. New is enough for what a
// plan promises and costs, which no state changes.
func WithState(p plan.Plan, state []byte) (*Protocol, error) {
	if p.State != plan.StateName(state) {
		return nil, errors.New("protocol: the state is another one than the plan names")
	}
	made, err := New(p)
	if err != nil {
		return nil, err
	}
	s, ok := made.Question.(question.Stateful)
	if !ok {
		return nil, fmt.Errorf("protocol: a question of kind %q takes no state: leave it out of the plan", p.Question.Kind)
	}
	q, err := s.WithState(state)
	if err != nil {
		return nil, err
	}
	return runnable(p, q), nil
}
