// Package design fills in what follows from the rest of a plan: the noise that keeps its promise, and what it takes
// to send. Used by cmd/confetti/internal/plan/draft, internal/studio and internal/simulate, for authors, and by no
// device.
package design

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/question/vector"
)

// kind fills in what follows from the rest of a plan of a kind.
type kind struct {
	one    func(plan.Plan) (plan.Plan, error)
	rounds func(p plan.Plan, rounds int) (plan.Plan, error) // that keep the budget together; nil: for one at a time
}

// designs returns those of kinds.
func designs() map[string]kind {
	return map[string]kind{
		"density":    {one: density.Design},
		"histogram":  {one: histogram.Design},
		"vector":     {one: vector.Design, rounds: vector.DesignRounds},
		"gradient":   {one: gradient.Design, rounds: gradient.DesignRounds},
		"label":      {one: label.Design},
		"latent":     {one: latent.Design},
		"strings":    {one: strings.Design},
		"table":      {one: table.Design},
		"experiment": {one: experiment.Design},
	}
}

// Fill fills in what follows from the rest of a plan: the noise that keeps
// its budget, and the number and length of envelopes. Everything else, keys
// aside, must be there already. Of the budget's epsilon and its local one either may
// be missing; an epsilon that is missing becomes what the noise gives.
func Fill(p plan.Plan) (plan.Plan, error) {
	d, known := designs()[p.Question.Kind]
	if !known || !p.Question.Asks() {
		return p, fmt.Errorf("design: no code for a question of kind %s, or nothing is asked", plan.Quoted(p.Question.Kind))
	}
	p, err := d.one(p)
	if err != nil {
		return p, err
	}
	return protocol.Routed(p)
}

// Choose fills in as Fill does, and says in words why what was left open is as it is: of a histogram's answers, and of its
// rounds. It says "" where nothing was open.
func Choose(p plan.Plan) (plan.Plan, string, error) {
	says := ""
	if p.Question.Histogram != nil {
		var err error
		if p, says, err = histogram.Choose(p); err != nil {
			return p, "", err
		}
	}
	p, err := Fill(p)
	return p, says, err
}

// Rounds returns the plan of each of so many rounds that the same respondents answer, and
// that keep the plan's budget together.
func Rounds(p plan.Plan, rounds int) (plan.Plan, error) {
	if rounds < 1 {
		return p, fmt.Errorf("design: %d rounds: must be at least 1", rounds)
	}
	d := designs()[p.Question.Kind]
	if d.rounds == nil {
		return p, fmt.Errorf("design: a question of kind %q is designed for one round at a time", p.Question.Kind)
	}
	p, err := d.rounds(p, rounds)
	if err != nil {
		return p, err
	}
	return protocol.Routed(p)
}
