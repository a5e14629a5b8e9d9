package protocol

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/release"
)

// noised says that the aggregators of a sum add the noise.
func (p *Protocol) noised() bool {
	s := p.Plan.Route.Sum
	return s != nil && s.Noise != plan.NoiseDevices
}

// Who sees what of a sum.
const (
	bothAggregators = "Both aggregators together, without the analyzer's help: they add the two shares of your answer, and have what your device has split."
	oneAggregator   = "One aggregator and the analyzer together, and whoever reads this release, as long as the other aggregator keeps the shares that it gets to itself and checks whose they are." + question.LeaderKnows
	noTokens        = "One aggregator and the analyzer together, and whoever reads this release, as long as the other aggregator keeps the shares that it gets to itself, and neither invents respondents. The plan has no tokens by which both would find invented ones: an aggregator that invents all others sees your answer with your own device's noise alone, as both aggregators do." + question.LeaderKnows
)

// observers are the question's, and who reads private sizes of crowds. Where devices flip their bits, a sum shows what a mixed batch
// shows, the counts of all bits: who had everything of one device is both aggregators here,
// and who had the batch is one of them. Nobody holds a single fragment.
func (p *Protocol) observers(shuffled account.Guarantee) ([]account.Statement, error) {
	all, err := p.Question.Observers(shuffled)
	if err != nil || p.noised() {
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
			if !p.bothCheck() {
				s.Who = noTokens
			}
		default:
			continue
		}
		seen = append(seen, s)
	}
	return seen, nil
}

// bothCheck says that both aggregators of a sum demand tokens.
func (p *Protocol) bothCheck() bool {
	s := p.Plan.Route.Sum
	return s.Leader.Tokens != "" && s.Helper.Tokens != ""
}

func (p *Protocol) sumAssumptions() []string {
	s := p.Plan.Route.Sum
	if p.noised() {
		who := "At least one aggregator draws its noise as the plan says, once a batch, and keeps its key to itself. It relies on no respondent."
		if s.Noise == plan.NoiseShared {
			who = "Both aggregators draw their noise as the plan says, once a batch, and keep their keys to themselves. The guarantee relies on no respondent."
		}
		return []string{who, inContext, "HPKE, AES-128 and TurboSHAKE128 hold."}
	}
	tokens := "No aggregator invents respondents: both check single-use tokens."
	if !p.bothCheck() {
		tokens = "No aggregator invents respondents. The plan does not have both of them check single-use tokens, so that it takes the word of the one that does not."
	}
	return []string{
		"At least one aggregator keeps its key and its shares to itself.", p.enoughNoise(), tokens, inContext,
		"HPKE, AES-128 and TurboSHAKE128 hold.",
	}
}

const inContext = "An honest aggregator counts a report once and hands over a batch once, also after a crash."

// splitBytes is the length of what a device sends: the public share, and the two others
// sealed.
func splitBytes(p plan.Plan) int {
	s, err := sum.New(p)
	if err != nil {
		return 0
	}
	v, err := s.VDAF(nil)
	if err != nil {
		return 0
	}
	public, leader, helper := v.ShareSizes()
	suite := envelope.Suite(p.Envelopes.Suite)
	return public + suite.Size(1, leader) + suite.Size(1, helper)
}

func (p *Protocol) sumCost() []release.Metric {
	s := p.Plan.Route.Sum
	c := s.Circuit
	allows := "a proof allows a single one among zeros"
	switch c.Kind {
	case plan.CircuitMultihot:
		allows = fmt.Sprintf("a proof allows at most %d ones among zeros", c.Weight)
	case plan.CircuitSumVec:
		allows = fmt.Sprintf("a proof allows numbers from 0 to %d", c.Max)
	}
	return []release.Metric{
		{Name: "numbers_per_device", Label: "Numbers per device", Value: float64(c.Length), Unit: release.Count, Note: allows},
		{Name: "bytes_per_device", Label: "Bytes per device", Value: float64(splitBytes(p.Plan)), Unit: release.Bytes, Note: fmt.Sprintf("two shares with their proof, sealed, suite %s", p.Plan.Envelopes.Suite)},
	}
}

// aggregatorsHonesty says what the guarantee rests on where no respondent adds noise.
func (p *Protocol) aggregatorsHonesty() release.Section {
	s := release.Section{Title: "If an aggregator does not keep to the protocol"}
	s.Text = "No respondent adds noise, so that the guarantee of each is the same however many others are silent or lie. An aggregator that tells the analyzer its noise takes it off the sums; what is left is in the row of that observer. One aggregator alone can falsify the sums, and nobody can tell: the proofs hold devices to the protocol, and not aggregators."
	if p.Plan.Route.Sum.Noise == plan.NoiseShared {
		s.Text += " Each of the two adds half of the noise, so that the promise needs both of them."
	}
	return s
}
