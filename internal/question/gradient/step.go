package gradient

import (
	"errors"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
)

// Model is what a round has taught.
type Model struct {
	Plan    [32]byte // the hash of the one that was asked
	Classes []string
	State   *State // after the round's step
	// Averaged says that the answer is the average of the models of all rounds.
	Averaged bool
}

// Network returns the model that the study gives so far.
func (m *Model) Network() *nn.Model {
	net := m.State.Model.Clone()
	if m.Averaged {
		copy(net.Params, m.State.Average)
	}
	return net
}

// Learn takes a step of the mean gradient. What it computes is the same on every machine.
func (q *Question) Learn(crowds []tally.Crowd) (question.Model, error) {
	if q.state == nil {
		return nil, errStateless
	}
	if len(crowds) != 1 || crowds[0].Tally == nil {
		return nil, errors.New("gradient: no gradients were released")
	}
	mean, noise, err := q.report.mean(crowds[0].Tally, crowds[0].Respondents)
	if err != nil {
		return nil, err
	}
	return q.Taught(mean, noise, crowds[0].Respondents), nil
}

// Taught returns the model after a step of the mean gradient of so many respondents, whose coordinates
// have a standard error of noise.
func (q *Question) Taught(mean []float64, noise float64, respondents int) *Model {
	turn := Turn{Respondents: respondents, Length: norm(mean), Noise: noise}
	return &Model{
		Plan: q.plan.Hash(), Classes: q.ask.Classes, Averaged: q.ask.Step.Average > 0,
		State: q.state.step(mean, q.ask.Step.Momentum, q.ask.Step.Average, q.ask.Step.Bound, turn),
	}
}

// Network returns the model that devices evaluate in the round.
func (q *Question) Network() *nn.Model { return q.state.Model }

// step returns the state after a step against a gradient g (Nesterov 1983):
//
//	velocity <- momentum velocity + g,   params <- params - rate (g + momentum velocity).
//
// One that would lead beyond the bound is not taken: the velocity is forgotten, and later
// steps are half as long. The average gives its earlier part the weight of a plain mean, and at most
// that of the plan.
func (s *State) step(g []float64, momentum, average, bound float64, turn Turn) *State {
	next := &State{
		Model: s.Model.Clone(), Velocity: slices.Clone(s.Velocity), Average: slices.Clone(s.Average), Rate: s.Rate,
		Turns: append(slices.Clone(s.Turns), turn),
	}
	squares := 0.0
	for i, v := range g {
		velocity := momentum*float64(s.Velocity[i]) + v
		next.Velocity[i] = float32(velocity)
		next.Model.Params[i] = float32(float64(s.Model.Params[i]) - s.Rate*(v+momentum*velocity))
		squares += float64(next.Model.Params[i]) * float64(next.Model.Params[i])
	}
	if !(squares <= bound*bound) {
		copy(next.Model.Params, s.Model.Params)
		clear(next.Velocity)
		next.Rate, next.Turns[len(s.Turns)].Refused = s.Rate/2, true
	}
	earlier := min(average, float64(len(s.Turns))/float64(len(next.Turns)))
	for i, p := range next.Model.Params {
		next.Average[i] = float32(earlier*float64(s.Average[i]) + (1-earlier)*float64(p))
	}
	return next
}
