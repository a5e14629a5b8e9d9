package protocol

import (
	"math"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in what follows from the rest of a plan: the noise that keeps
// its budget, and the number and length of envelopes. Everything else, keys
// aside, must be there already. Of the budget's epsilon and its local one either may
// be missing; an epsilon that is missing becomes what the noise gives.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = payloadBytes
	}
	if p.Question.Kind == "density" && p.Question.Density != nil {
		d := *p.Question.Density // the caller's stays as it is
		p.Question.Density = &d
		err := designDensity(&p, &d)
		return p, err
	}
	if p.Question.Kind == "histogram" && p.Question.Histogram != nil {
		h := *p.Question.Histogram
		p.Question.Histogram = &h
		err := designHistogram(&p, &h)
		return p, err
	}
	_, err := newQuestion(p)
	return p, err
}

// payloadBytes holds a message, rounded up to a power of two.
const payloadBytes = 8

// overflowShare of delta pays for reports that outgrow their envelopes.
const overflowShare = 0.01

func designDensity(p *plan.Plan, d *plan.Density) error {
	spec, err := spec(*d)
	if err != nil {
		return err
	}
	features, err := encode.New(spec)
	if err != nil {
		return err
	}
	honest := p.HonestMinimum()
	if d.Bitsum.Divided() && p.Crowd.Maximum == 0 {
		p.Crowd.Maximum = max(p.Crowd.Minimum, thinnedTimes*honest)
	}
	delta := p.Budget.Delta
	if d.Bitsum.Name != "rr" {
		delta *= 1 - overflowShare
	}
	if p.Budget.Epsilon > 0 || p.Budget.LocalEpsilon == 0 {
		if d.Bitsum, _, err = DesignBitsum(d.Bitsum, features, honest, thinnings(*p), p.Budget.Epsilon, delta); err != nil {
			return err
		}
	}
	if p.Budget.LocalEpsilon > 0 {
		if d.Bitsum, err = withinLocal(*p, d.Bitsum, features); err != nil {
			return err
		}
	}
	if p.Budget.Epsilon == 0 {
		if p.Budget.Epsilon, err = impliedByDensity(*p, d.Bitsum, features); err != nil {
			return err
		}
	}
	bits, _, err := NewBitsum(d.Bitsum, honest)
	if err != nil {
		return err
	}
	p.Envelopes.PerDevice = features.Channels()
	if b, ok := bits.(varying); ok {
		rare := overflowShare * p.Budget.Delta / ((1 + math.Exp(p.Budget.Epsilon)) * float64(honest))
		p.Envelopes.PerDevice, err = b.SmallestCap(features.Channels(), rare)
	}
	return err
}
