package protocol

import (
	"errors"
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
)

// GuaranteeWith returns the shuffled guarantee of the features at the plan's delta where only
// so many respondents of a batch add their noise as the plan says, the one in
// question among them. It is an error if nothing can be proved of that noise.
//
// Whoever is relied on may outgrow its envelopes, and is charged for. With many more
// respondents than the plan counts on that takes much of delta: then fewer are relied on,
// and what the others send is left out, which is post-processing. So are those beyond the
// plan's number where the rounded bound of all is above that of the plan's.
func (p *Protocol) GuaranteeWith(honest int) (account.Guarantee, error) {
	if honest < 1 {
		return account.Guarantee{}, errors.New("protocol: a guarantee is for a respondent that keeps to the protocol: give at least 1")
	}
	best, err := p.relying(honest)
	if p.risks().Overflow == 0 {
		if least := p.Plan.MinHonest(); err == nil && honest > least {
			if g, err := p.relying(least); err == nil && g.Epsilon < best.Epsilon {
				return g, nil
			}
		}
		return best, err
	}
	for relied := honest; relied > p.Plan.MinHonest(); {
		relied = max(relied/2, p.Plan.MinHonest())
		g, err2 := p.relying(relied)
		if err == nil && (err2 != nil || g.Epsilon >= best.Epsilon) {
			break
		}
		best, err = g, err2
	}
	return best, err
}

// relying returns the guarantee that so many respondents' noise gives.
func (p *Protocol) relying(honest int) (account.Guarantee, error) {
	e := p.Question.Event(honest, false)
	if e == nil {
		return account.Guarantee{}, fmt.Errorf("protocol: no proof covers the noise of %d respondents where %d were to add it", honest, p.Plan.MinHonest())
	}
	overflow := float64(honest) * p.risks().Overflow
	return p.withOverflow(e, overflow, p.risks().Slack, p.Plan.Budget.Delta)
}

// withOverflow returns the guarantee at delta of reports that together outgrow their
// envelopes with at most the given probability, and otherwise have the event's
// law: (epsilon, d) becomes (epsilon, d + (1+e^epsilon) overflow). The charge
// depends on the epsilon that it is to give, so an epsilon is guessed and raised
// until it holds. Slack is charged as it is.
func (p *Protocol) withOverflow(e account.Event, overflow, slack, delta float64) (account.Guarantee, error) {
	for guess := 0.0; ; {
		charge := slack
		if overflow > 0 {
			charge += (1 + math.Exp(guess)) * overflow
		}
		if charge >= delta {
			return account.Guarantee{}, fmt.Errorf("protocol: %w", p.spent(delta))
		}
		g, err := account.Epsilon(e, delta-charge)
		if err != nil {
			return account.Guarantee{}, err
		}
		if overflow == 0 || g.Epsilon <= guess {
			g.Delta = delta
			return g, nil
		}
		guess = g.Epsilon * (1 + guessMargin)
	}
}

// guessMargin is how far above the last answer the next guess lies, so that it
// holds where the charge is small: it costs at most this share of epsilon's charge.
const guessMargin = 0.01
