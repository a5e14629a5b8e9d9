package protocol

import (
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/bitsum"
	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/kde"
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
	accounting := account.Accounting(d.Bitsum.Accounting)
	switch d.Bitsum.Name {
	case "rr":
		p.Envelopes.PerDevice = features.Channels()
		d.Bitsum.FlipProbability, _, err = kde.CalibrateRR(features, honest, p.Budget.Epsilon, p.Budget.Delta, accounting)
		return err
	case "3nb":
		t := account.Target{Users: honest, Rounds: features.Sensitivity().Coordinates, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta * (1 - overflowShare)}
		nb, _, err := calibrateThreeNB(t, accounting)
		if err != nil {
			return err
		}
		d.Bitsum.Noise, d.Bitsum.FloodShape, d.Bitsum.FloodProbability = nb.Noise, nb.FloodShape, nb.FloodProb
		report := bitsum.ThreeNB{Users: honest, Noise: nb.Noise, FloodShape: nb.FloodShape, FloodProb: nb.FloodProb}
		rare := overflowShare * p.Budget.Delta / ((1 + math.Exp(p.Budget.Epsilon)) * float64(honest))
		p.Envelopes.PerDevice, err = report.SmallestCap(features.Channels(), rare)
		return err
	}
	return p.Validate() // which says what a bitsum may be
}

// calibrateThreeNB asks for as many messages as bring the error close to its least.
func calibrateThreeNB(t account.Target, a account.Accounting) (account.ThreeNB, account.Guarantee, error) {
	extra := 0.0 // the paper's flood is what it is
	if a == account.ExactAccounting {
		var err error
		if extra, err = account.FloodMessages(t); err != nil {
			return account.ThreeNB{}, account.Guarantee{}, err
		}
	}
	return account.CalibrateThreeNB(t, a, extra)
}
