// Package protocol makes a plan runnable. New is the only place that turns a
// plan's names and numbers into code, and client and analyzer both call it, so
// they cannot disagree. What kind of question is asked is known here, in one table,
// and nowhere above.
package protocol

import (
	"fmt"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/gradient"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/label"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/question/vector"
)

// kinds are the kinds of question that there are, by their names in a plan. What designs them
// is in a table of its own, which no device carries: a linker keeps all of a table, or none.
var kinds = map[string]kind{
	"density":   kindOf(density.Validate, density.New),
	"histogram": kindOf(histogram.Validate, histogram.New),
	"vector":    kindOf(vector.Validate, vector.New),
	"gradient":  kindOf(gradient.Validate, gradient.New),
	"label":     kindOf(label.Validate, label.New),
	"latent":    kindOf(latent.Validate, latent.New),
}

// kind is what is done with a plan that asks for it: validate lists what is wrong with
// the question's section and with what it asks of others, and new makes a valid plan's
// question runnable.
type kind struct {
	validate func(plan.Plan, *plan.Problems)
	new      func(plan.Plan) (question.Question, error)
}

// kindOf forgets which one it is.
func kindOf[Q question.Question](validate func(plan.Plan, *plan.Problems), make func(plan.Plan) (Q, error)) kind {
	return kind{validate: validate, new: func(p plan.Plan) (question.Question, error) {
		q, err := make(p)
		if err != nil {
			return nil, err // and no question that is nil
		}
		return q, nil
	}}
}

// kindFor is the plan's.
func kindFor(p plan.Plan) (kind, error) {
	k, known := kinds[p.Question.Kind]
	if !known || !p.Question.Asks() {
		return kind{}, fmt.Errorf("protocol: no code for a question of kind %s, or nothing is asked", plan.Quoted(p.Question.Kind))
	}
	return k, nil
}

// Validate checks the form of a plan as a whole, its question included, and reports the
// problems together, as plan.Problems. It costs little, whatever the plan.
func Validate(p plan.Plan) error {
	ps := p.Problems()
	if k, err := kindFor(p); err == nil {
		k.validate(p, &ps)
	}
	return ps.Err()
}

// Protocol is a plan made runnable. Its question's methods are the stages of the flow,
// in order: Encode and Randomize on the client, Learn on the analyzer. It is immutable and
// safe for concurrent use.
type Protocol struct {
	Plan plan.Plan
	Hash [32]byte
	question.Question

	risks func() question.Risks
	words func() question.Words
}

// New makes a valid plan runnable. It checks the plan's form, not its promise:
// see Check.
func New(p plan.Plan) (*Protocol, error) {
	if err := Validate(p); err != nil {
		return nil, err
	}
	k, err := kindFor(p)
	if err != nil {
		return nil, err
	}
	q, err := k.new(p)
	if err != nil {
		return nil, err
	}
	if p.Route.Sum != nil {
		if err := checkSum(p, q); err != nil {
			return nil, err
		}
	}
	return runnable(p, q), nil
}

func runnable(p plan.Plan, q question.Question) *Protocol {
	return &Protocol{Plan: p, Hash: p.Hash(), Question: q, risks: sync.OnceValue(q.Risks), words: sync.OnceValue(q.Words)}
}

// Estimate debiases what was counted of each crowd, with the standard error of every
// number; nil where a crowd was withheld, or numbers are not debiased one by one.
func (p *Protocol) Estimate(crowds []tally.Crowd) [][]estimate.Value {
	all := make([][]estimate.Value, len(crowds))
	q, ok := p.Question.(question.Estimated)
	for i, c := range crowds {
		if ok && c.Tally != nil {
			all[i] = q.Estimate(c)
		}
	}
	return all
}

// Backstop says what the plan keeps on a device; ok is false where it keeps nothing.
func (p *Protocol) Backstop() (b question.Backstop, ok bool) {
	if q, keeps := p.Question.(question.Backed); keeps {
		return q.Backstop()
	}
	return b, false
}

// Words are for people.
func (p *Protocol) Words() question.Words { return p.words() }

// CrowdName is what the plan calls a crowd, for people.
func (p *Protocol) CrowdName(crowd int) string { return p.words().Crowds[crowd] }

// loss is that of the smallest crowd that the plan allows.
func (p *Protocol) loss() account.Event { return p.Question.Loss(p.Plan.HonestMinimum(), false) }
