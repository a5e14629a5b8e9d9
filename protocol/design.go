package protocol

import (
	"cmp"
	"fmt"

	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/gradient"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/label"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/question/vector"
)

// design fills in what follows from the rest of a plan of a kind.
type design struct {
	one    func(plan.Plan) (plan.Plan, error)
	rounds func(p plan.Plan, rounds int) (plan.Plan, error) // that keep the budget together; nil: for one at a time
}

// designs are those of kinds.
func designs() map[string]design {
	return map[string]design{
		"density":   {one: density.Design},
		"histogram": {one: histogram.Design},
		"vector":    {one: vector.Design, rounds: vector.DesignRounds},
		"gradient":  {one: gradient.Design, rounds: gradient.DesignRounds},
		"label":     {one: label.Design},
		"latent":    {one: latent.Design},
	}
}

// Design fills in what follows from the rest of a plan: the noise that keeps
// its budget, and the number and length of envelopes. Everything else, keys
// aside, must be there already. Of the budget's epsilon and its local one either may
// be missing; an epsilon that is missing becomes what the noise gives.
func Design(p plan.Plan) (plan.Plan, error) {
	if _, err := kindFor(p); err != nil {
		return p, err
	}
	p, err := designs()[p.Question.Kind].one(p)
	if err != nil {
		return p, err
	}
	return Routed(p)
}

// DesignRounds is the plan of each of so many rounds that the same respondents answer, and
// that keep the plan's budget together.
func DesignRounds(p plan.Plan, rounds int) (plan.Plan, error) {
	if rounds < 1 {
		return p, fmt.Errorf("protocol: %d rounds: must be at least 1", rounds)
	}
	_, err := kindFor(p)
	d := designs()[p.Question.Kind]
	if err != nil || d.rounds == nil {
		return p, cmp.Or(err, fmt.Errorf("protocol: a question of kind %q is designed for one round at a time", p.Question.Kind))
	}
	if p, err = d.rounds(p, rounds); err != nil {
		return p, err
	}
	return Routed(p)
}
