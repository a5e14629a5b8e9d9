package protocol

import (
	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Noised reports whether the aggregators of a sum add the noise, or the holder of a table.
func (p *Protocol) Noised() bool { return p.Plan.Route.Noise().AggregatorNoise() }

// Who sees what of a sum.
const (
	bothAggregators = "Both aggregators together, without the analyzer's help: they add the two shares of your answer, and have what your device has split."
	oneAggregator   = "One aggregator and the analyzer together, and whoever reads this release, as long as the other aggregator keeps the shares that it gets to itself and checks whose they are." + terms.LeaderKnows
	noTokens        = "One aggregator and the analyzer together, and whoever reads this release, as long as the other aggregator keeps the shares that it gets to itself, and neither invents respondents. The plan has no tokens by which both would find invented ones: an aggregator that invents all others sees your answer with your own device's noise alone, as both aggregators do." + terms.LeaderKnows
)

// observers returns the question's observers, and who reads private sizes of crowds. Where devices flip their bits, a sum
// shows the counts of all bits, as a mixed batch does. In a sum, "everyone colludes" means both aggregators, and
// "shuffler honest" means one of them. Nobody holds a single fragment.
func (p *Protocol) observers(shuffled account.Guarantee) ([]account.Statement, error) {
	all, err := p.Question.Guarantees(shuffled)
	if err != nil || p.Noised() {
		return all, err
	}
	if p.Plan.Route.Sum == nil {
		sizes, err := p.sizes()
		return append(all, sizes...), err
	}
	var seen []account.Statement
	for _, s := range all {
		switch s.Observer {
		case account.EveryoneColludes:
			s.Observer, s.Who = account.BothAggregators, bothAggregators
		case account.ShufflerHonest:
			s.Observer, s.Who = account.OneAggregator, oneAggregator
			if !p.BothCheck() {
				s.Who = noTokens
			}
		default:
			continue
		}
		seen = append(seen, s)
	}
	return seen, nil
}

// BothCheck reports whether both aggregators of a sum demand tokens.
func (p *Protocol) BothCheck() bool {
	s := p.Plan.Route.Sum
	return s.Leader.Tokens != "" && s.Helper.Tokens != ""
}
