package protocol

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/plan"
)

// Stepped is the ability of a question whose rounds build on each other: Next is the
// public state that the round after one which taught the model asks with, or the first
// round's where there is no model yet. The study is done where nothing is left to ask.
// Next sees what the round releases and nothing else, so it costs no privacy.
type Stepped interface {
	Next(Model) (state []byte, done bool, err error)
}

// Stated is the ability of a question that needs a public state. What a device says
// costs the same in every state.
type Stated interface {
	withState([]byte) (question, error)
}

// Next is what the next round of a study asks with, given what a round has taught: nil
// where it asks with the same state as this one.
func (p *Protocol) Next(m Model) (state []byte, done bool, err error) {
	if s, ok := p.question.(Stepped); ok {
		return s.Next(m)
	}
	return nil, false, nil
}

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
	s, ok := made.question.(Stated)
	if !ok {
		return nil, fmt.Errorf("protocol: a question of kind %q takes no state: leave it out of the plan", p.Question.Kind)
	}
	if made.question, err = s.withState(state); err != nil {
		return nil, err
	}
	return made, nil
}
