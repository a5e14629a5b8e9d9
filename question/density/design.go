package density

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/densities"
	"github.com/confetti-dp/confetti/internal/question/terms"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in what follows from the rest of a plan: the noise that keeps its
// budget, and the number and length of envelopes.
func Design(p plan.Plan) (plan.Plan, error) {
	if p.Envelopes.PayloadBytes == 0 {
		p.Envelopes.PayloadBytes = terms.PayloadBytes
	}
	d := *p.Question.Density // the caller's stays as it is
	p.Question.Density = &d
	err := design(&p, &d)
	return p, err
}

func design(p *plan.Plan, d *plan.Density) error {
	features, err := densities.Features(*d)
	if err != nil {
		return err
	}
	honest := p.MinHonest()
	if d.Bitsum.Divided() && p.Crowd.Maximum == 0 {
		p.Crowd.Maximum = max(p.Crowd.Minimum, thinnedTimes*honest)
	}
	bits, err := summerOf(d.Bitsum, honest)
	if err != nil {
		return fmt.Errorf("density: %w", err)
	}
	delta := p.Budget.Delta
	if _, ok := bits.(varying); ok {
		delta *= 1 - terms.OverflowShare
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
	if bits, err = NewBitsum(d.Bitsum, honest); err != nil {
		return err
	}
	p.Envelopes.PerDevice = features.Channels()
	if b, ok := bits.(varying); ok {
		if mean := float64(features.Channels()) * bits.MessagesPerUser(); mean > plan.MaxEnvelopes {
			return &question.TooManyMessages{PerDevice: int(min(mean, 1<<62))} // too many for their law to be bounded
		}
		p.Envelopes.PerDevice, err = b.SmallestCap(features.Channels(), terms.RareOverflow(*p, honest))
		if err == nil && p.Envelopes.PerDevice > plan.MaxEnvelopes {
			return &question.TooManyMessages{PerDevice: p.Envelopes.PerDevice}
		}
	}
	return err
}

// withinLocal returns the bitsum with at least the noise with which all bits of f of one device tell no
// more than the plan's local epsilon, of which the label takes its share. It is an error where
// devices do not hide their bits by themselves.
func withinLocal(p plan.Plan, b plan.Bitsum, f *kernelmap.Features) (plan.Bitsum, error) {
	left := p.Budget.LocalEpsilon
	if l := p.Budget.LabelEpsilon; l != plan.Unprotected && len(p.Crowd.Names) > 1 {
		if left -= float64(l); !(left > 0) {
			return b, fmt.Errorf("density: budget.local_epsilon: the class alone is sent with epsilon %g, and %g is to hold for all of it: lower budget.label_epsilon, or ask for more", float64(l), p.Budget.LocalEpsilon)
		}
	}
	m, _ := summerOf(b, 1)
	alone, ok := m.(flipping)
	if !ok {
		return b, fmt.Errorf("density: budget.local_epsilon: %s has none: its noise is divided among the devices, and what one of them sends shows its bits; ask for rr", b.Name)
	}
	return alone.within(b, f, left)
}

// implied returns the shuffled epsilon of a density's noise.
func implied(p plan.Plan, b plan.Bitsum, f *kernelmap.Features) (float64, error) {
	bits, err := NewBitsum(b, p.MinHonest())
	if err != nil {
		return 0, err
	}
	return terms.Implied(kde.Loss(f, thinned(p, bits)), p.Budget.Delta)
}
