// Package analyzer opens what the shufflers have mixed, counts it, and learns. Used by internal/service/analyzerd,
// internal/analyzer/parts and simulate.
package analyzer

import (
	"fmt"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// Analyzer counts the batches of one plan in memory. It is not safe for
// concurrent use; it opens envelopes on all cores by itself.
type Analyzer struct {
	counter *Counter
	crowds  []tally.Crowd
	counted map[origin]bool // the batches that came
	dropped int
}

type origin struct {
	instance uint16
	crowd    uint32
}

// New returns an analyzer for the plan with its private key.
func New(p *protocol.Protocol, key envelope.PrivateKey) (*Analyzer, error) {
	c, err := NewCounter(p, key)
	if err != nil {
		return nil, err
	}
	return &Analyzer{counter: c, crowds: make([]tally.Crowd, p.Plan.Crowds()), counted: map[origin]bool{}}, nil
}

// Add opens and counts one batch, as Counter.Count does. One that came before is
// refused whole.
func (a *Analyzer) Add(b envelope.Batch) error {
	from := origin{b.Instance, b.Crowd}
	if a.counted[from] {
		return fmt.Errorf("analyzer: the batch of instance %d and crowd %d was counted already: there is one of each", int(b.Instance)+1, int64(b.Crowd)+1)
	}
	crowd, dropped, err := a.counter.Count(b)
	if err != nil {
		return err
	}
	if err := a.crowds[b.Crowd].Merge(crowd); err != nil {
		return err
	}
	a.dropped += dropped
	a.counted[from] = true
	return nil
}

// Crowds returns what was counted of each.
func (a *Analyzer) Crowds() []tally.Crowd { return a.crowds }

// Dropped returns the number of envelopes that were not counted.
func (a *Analyzer) Dropped() int { return a.dropped }

// Release estimates, learns, and writes up what was counted.
func (a *Analyzer) Release(public results.Public) (release.Release, question.Model, error) {
	p := a.counter.protocol
	model, err := p.Learn(a.crowds)
	if err != nil {
		return release.Release{}, nil, err
	}
	r, err := Numbers(p, model, a.crowds, public)
	if err != nil {
		return r, model, err
	}
	r.Dropped = a.dropped
	return r, model, Write(p, &r)
}
