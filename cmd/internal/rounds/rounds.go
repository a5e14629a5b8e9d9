// Package rounds makes a study of a plan, and its first round. Used by cmd/confetti/internal/study and
// cmd/internal/server/up.
package rounds

import (
	"cmp"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Terms say how a study goes on, for whoever makes one.
type Terms struct {
	Takes    string `help:"Of a study: whether a device answers one round, which it draws, or all." enum:"one,all" default:"one"`
	Withheld string `help:"Of a study: whether a round that is withheld is repeated by the next, or ends the study." enum:"repeat,end" default:"repeat"`
	Merged   bool   `help:"Of a study of one round each: publish, beside the release of each round, one of all rounds so far."`
}

// Settle returns the terms and the number of rounds, 0 for what the plan says. Correlated rounds are answered by
// everybody, and the plan says how many there are; 0 of any other.
func (t Terms) Settle(p plan.Plan, rounds int) (Terms, int) {
	if of := p.Correlated(); of != nil {
		t.Takes = plan.TakesAll
		return t, cmp.Or(rounds, of.Rounds)
	}
	return t, rounds
}

// Study returns that of the plan, whose own times are left out.
func (t Terms) Study(p plan.Plan, rounds int, times plan.Times, coordinator string) (plan.Study, error) {
	p.Times = plan.Times{}
	s := plan.Study{
		Version: plan.StudyVersion, Plan: p, Rounds: rounds, Takes: t.Takes, Withheld: t.Withheld, Merged: t.Merged,
		Coordinator: coordinator, Times: times,
	}
	if err := s.Validate(); err != nil {
		return s, err
	}
	proto, err := protocol.New(p)
	if err == nil {
		_, err = proto.Promise()
	}
	return s, err
}

// First makes the first round of a study, with the state that it asks with; nil where there
// is none.
func First(study plan.SignedStudy, times plan.Times, coordinator relay.SignKey) (round plan.Signed, state []byte, err error) {
	proto, err := protocol.New(study.Study.Plan)
	if err != nil {
		return round, nil, err
	}
	name := ""
	if state, _, err = results.Next(proto.Question, nil); err != nil {
		return round, nil, err
	}
	if state != nil {
		name = plan.StateName(state)
	}
	round, err = study.Round(1, name, times, coordinator.Private())
	return round, state, err
}
