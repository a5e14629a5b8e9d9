// Package protocol makes a plan runnable, and computes its promise. Used by client and party/analyzer, which cannot
// disagree, and by release/verify.
//
// New is the only place that turns a plan's names and numbers into code. It knows the kinds of question that the
// program has imported (internal/question/registry), and nothing of any of them.
package protocol

import (
	"fmt"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/envelope/sizes"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/registry"
	"github.com/confetti-dp/confetti/plan"
)

// kindFor returns the kind of the plan's question.
func kindFor(p plan.Plan) (registry.Kind, error) {
	k, known := registry.Find(p.Question.Kind)
	if !known || !p.Question.Asks() {
		return registry.Kind{}, fmt.Errorf("protocol: no code for a question of kind %s, or nothing is asked: this program knows %s", plan.Quoted(p.Question.Kind), strings.Join(registry.Names(), ", "))
	}
	return k, nil
}

// Validate checks the form of a plan as a whole, its question included, and reports the
// problems together, as plan.Problems. It costs little, whatever the plan.
func Validate(p plan.Plan) error {
	ps := p.Problems()
	contributions(p, &ps)
	if k, err := kindFor(p); err == nil {
		k.Validate(p, &ps)
	}
	return ps.Err()
}

// contributions refuses a plan whose contributions are longer than any service keeps. A plan whose entry has no
// address is of a simulation, whose counts may be drawn by their law.
func contributions(p plan.Plan, ps *plan.Problems) {
	if p.SealedOnce() && p.Envelopes.PerDevice > 0 && sizes.Suite(p.Envelopes.Suite) == nil {
		for i, in := range p.Route.Instances() {
			if len(in.Hops) == 0 || in.Hops[0].URL == "" {
				continue
			}
			err := sizes.Check(p.Envelopes.Suite, p.Envelopes.PerDevice, sizes.Envelope(p.Envelopes.Suite, p.Envelopes.PayloadBytes, p.Slots(i)))
			ps.Require(err == nil, "envelopes: %v", err)
		}
	}
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
	q, err := k.New(p)
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
	if q, keeps := p.Question.(question.Memoizer); keeps {
		return q.Backstop()
	}
	return b, false
}

// Words returns those for people.
func (p *Protocol) Words() question.Words { return p.words() }

// Risks returns what may go wrong with an answer.
func (p *Protocol) Risks() question.Risks { return p.risks() }

// CrowdName returns what the plan calls a crowd, for people.
func (p *Protocol) CrowdName(crowd int) string { return p.words().Crowds[crowd] }

// loss returns that of the smallest crowd that the plan allows.
func (p *Protocol) loss() account.Event { return p.Question.Event(p.Plan.MinHonest(), false) }
