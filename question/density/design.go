package density

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
)

// Design fills in what follows from the rest of a plan: the noise that keeps its
// budget, and the number and length of envelopes.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = question.PayloadBytes
	}
	d := *p.Question.Density // the caller's stays as it is
	p.Question.Density = &d
	err := design(&p, &d)
	return p, err
}

func design(p *plan.Plan, d *plan.Density) error {
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
		delta *= 1 - question.OverflowShare
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
		if p.Budget.Epsilon, err = implied(*p, d.Bitsum, features); err != nil {
			return err
		}
	}
	bits, _, err := NewBitsum(d.Bitsum, honest)
	if err != nil {
		return err
	}
	p.Envelopes.PerDevice = features.Channels()
	if b, ok := bits.(varying); ok {
		if mean := float64(features.Channels()) * bits.MessagesPerUser(); mean > plan.MaxEnvelopes {
			return &question.TooManyMessages{PerDevice: int(min(mean, 1<<62))} // too many for their law to be bounded
		}
		p.Envelopes.PerDevice, err = b.SmallestCap(features.Channels(), question.RareOverflow(*p, honest))
		if err == nil && p.Envelopes.PerDevice > plan.MaxEnvelopes {
			return &question.TooManyMessages{PerDevice: p.Envelopes.PerDevice}
		}
	}
	return err
}

// bitsumWithinLocal is the bitsum with at least the noise with which all bits of f of one device
// tell no more than a local epsilon. It is an error for all but randomized response.
func bitsumWithinLocal(b plan.Bitsum, f *encode.Features, epsilon float64) (plan.Bitsum, error) {
	if b.Name != "rr" {
		return b, fmt.Errorf("density: budget.local_epsilon: %s has none: its noise is divided among the devices, and what one of them sends shows its bits; ask for rr", b.Name)
	}
	flip, err := kde.LocalFlip(f, epsilon)
	b.FlipProbability = math.Max(b.FlipProbability, flip)
	return b, err
}

// withinLocal is that of a plan, whose label takes its share.
func withinLocal(p plan.Plan, b plan.Bitsum, f *encode.Features) (plan.Bitsum, error) {
	left := p.Budget.LocalEpsilon
	if l := p.Budget.LabelEpsilon; l != plan.Unprotected && len(p.Crowd.Names) > 1 {
		if left -= float64(l); !(left > 0) {
			return b, fmt.Errorf("density: budget.local_epsilon: the class alone is sent with epsilon %g, and %g is to hold for all of it: lower budget.label_epsilon, or ask for more", float64(l), p.Budget.LocalEpsilon)
		}
	}
	return bitsumWithinLocal(b, f, left)
}

// implied is the shuffled epsilon of a density's noise.
func implied(p plan.Plan, b plan.Bitsum, f *encode.Features) (float64, error) {
	_, channel, err := NewBitsum(b, p.HonestMinimum())
	if err != nil {
		return 0, err
	}
	return question.Implied(kde.Loss(f, thinnable(p, channel)), p.Budget.Delta)
}
