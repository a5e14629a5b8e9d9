package protocol

import (
	"fmt"
	"math"

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

// TooManyMessages is noise that keeps the budget and that no device sends. The plan that
// Design returns with it has the noise, and is not valid.
type TooManyMessages struct{ PerDevice int }

func (e *TooManyMessages) Error() string {
	return fmt.Sprintf("protocol: the noise takes %d messages a device, of at most %d: ask for fewer cells or repetitions, for a sketch, for another mechanism, or in a larger crowd", e.PerDevice, plan.MaxEnvelopes)
}

// payloadBytes holds a message, rounded up to a power of two.
const payloadBytes = 8

// overflowShare of delta pays for reports that outgrow their envelopes.
const overflowShare = 0.01

func designDensity(p *plan.Plan, d *plan.Density) error {
	features, err := Features(*d)
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
		if p.Envelopes.PerDevice, err = b.SmallestCap(features.Channels(), rare); err == nil && p.Envelopes.PerDevice > plan.MaxEnvelopes {
			return &TooManyMessages{p.Envelopes.PerDevice}
		}
	}
	return err
}
