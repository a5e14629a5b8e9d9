package protocol

import (
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/plan"
)

// Design fills in what follows from the rest of a plan: the noise that keeps
// its budget, and the number and length of envelopes. Everything else, keys
// aside, must be there already.
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
	_, err := newQuestion(p)
	return p, err
}

// payloadBytes holds a message, rounded up to a power of two.
const payloadBytes = 8

const (
	// floodMessages is how many messages 3NB may send beyond one a channel: a
	// quarter brings its error within half a percent of the least there is.
	floodMessages = 0.25
	// overflowShare of delta pays for reports that outgrow their envelopes.
	overflowShare = 0.01
)

func designDensity(p *plan.Plan, d *plan.Density) error {
	honest := p.HonestMinimum()
	t := account.Target{Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta, Users: honest, Rounds: d.Channels()}
	accounting := account.Accounting(d.Bitsum.Accounting)
	switch d.Bitsum.Name {
	case "rr":
		rr, _, err := account.CalibrateRR(t, accounting)
		if err != nil {
			return err
		}
		d.Bitsum.FlipProbability = rr.Flip
		p.Envelopes.PerDevice = d.Channels()
	case "3nb":
		t.Delta *= 1 - overflowShare
		extra := floodMessages
		if accounting == account.PaperAccounting {
			extra = 0
		}
		nb, _, err := account.CalibrateThreeNB(t, accounting, extra)
		if err != nil {
			return err
		}
		d.Bitsum.Noise, d.Bitsum.FloodShape, d.Bitsum.FloodProbability = nb.Noise, nb.FloodShape, nb.FloodProb
		report := bitsum.ThreeNB{Users: honest, Noise: nb.Noise, FloodShape: nb.FloodShape, FloodProb: nb.FloodProb}
		rare := overflowShare * p.Budget.Delta / ((1 + math.Exp(p.Budget.Epsilon)) * float64(honest))
		p.Envelopes.PerDevice, err = report.SmallestCap(d.Channels(), rare)
		return err
	default:
		return p.Validate() // which says what a bitsum may be
	}
	return nil
}
