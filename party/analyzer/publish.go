package analyzer

import (
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Numbers returns what was learned from the crowds, without the words that follow from the plan.
func Numbers(p *protocol.Protocol, model question.Model, crowds []tally.Crowd, public results.Public) (r release.Release, err error) {
	r = statement.Begin(p, crowds, public.Came)
	r.Headline, r.Sections, err = results.Describe(model, public)
	return r, err
}

// Write writes the words of a release of a plan that stands alone.
func Write(p *protocol.Protocol, r *release.Release) error {
	promise, err := p.Promise()
	if err != nil {
		return err
	}
	return statement.Plan{Protocol: p, Promise: promise}.Write(r)
}

// CheckBatch recomputes the guarantee from what arrived and returns why the plan's
// promise does not hold for it; then nothing may be published. The plan counts on
// (1-f) n_min honest respondents in the smallest batch. So many respondents have
// come to it, but what opened may be fewer whole contributions than n_min, and of
// those a share f may be silent or lie.
func CheckBatch(p *protocol.Protocol, crowds []tally.Crowd) error {
	arrived := 0
	for _, c := range crowds {
		if c.Tally != nil && (arrived == 0 || c.Smallest < arrived) {
			arrived = c.Smallest
		}
	}
	return p.CheckBatch(arrived)
}
