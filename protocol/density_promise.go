package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/release"
)

func (d *density) asked() string {
	q := d.plan.Question.Density
	return fmt.Sprintf("What do the feature vectors of each of %d classes look like? Each respondent holds one vector of %d numbers and its class.", len(q.Classes), q.Dimension)
}

func (d *density) nouns() (answer, crowd string) { return "features", "class" }

func (d *density) assumptions() []string { return nil }

// slack: all of a crowd add noise in every channel.
func (d *density) slack() float64 { return 0 }

func (d *density) crowdName(crowd int) string {
	return fmt.Sprintf("class %q", d.plan.Question.Density.Classes[crowd])
}

// rounds is the number of bits whose probability a replaced record can move.
func (d *density) rounds() int { return d.features.Sensitivity().Coordinates }

func (d *density) loss() account.Event { return kde.Loss(d.features, d.channel) }

func (d *density) again() account.Event { return d.loss() }

func (d *density) overflow(honest, envelopes int) float64 {
	if b, ok := d.bits.(varying); ok {
		return b.OverflowProb(d.features.Channels(), envelopes)
	}
	if envelopes < d.features.Channels() {
		return 1 // one message a channel, always
	}
	return 0
}

// bitLoss is the local epsilon of one bit as one device sends it. Protocols
// that send a varying number of messages hide a bit only among other devices':
// one that sends no message +1 has shown its bit.
func (d *density) bitLoss() float64 {
	if b := d.plan.Question.Density.Bitsum; b.Name == "rr" && b.FlipProbability > 0 {
		return math.Log1p(-b.FlipProbability) - math.Log(b.FlipProbability)
	}
	return math.Inf(1)
}

func (d *density) observers(features account.Guarantee) ([]release.GuaranteeStatement, error) {
	local := account.Guarantee{
		Epsilon: d.bitLoss() * float64(d.rounds()), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: d.rounds(),
		Bound: account.Exact, Method: "sum of the local losses of all bits", Source: "basic composition; one respondent's own randomness",
	}
	if d.rounds() > 1 {
		local.Bound = account.Upper // no value drives every bit from one extreme to the other
	}
	one := local
	one.Epsilon, one.Trust, one.Rounds, one.Bound, one.Method = d.bitLoss(), account.OneFragment, 1, account.Exact, "local loss of one bit"
	note := "Labels are not protected: the reported class is the true one, and the guarantee speaks of the features only."
	shuffledNote := note
	if d.labels != nil {
		label := d.labels.Local(account.Replacement)
		note = fmt.Sprintf("Includes the class, which is sent by randomized response of %d classes with epsilon %.3g.", d.labels.K, label.Epsilon)
		shuffledNote = fmt.Sprintf("Of this, epsilon %.4g speaks of the features with the reported class fixed, and %.3g of the class (KDE, Corollary 3.4, communication threat model).", features.Epsilon, label.Epsilon)
		for _, g := range []*account.Guarantee{&local, &one, &features} {
			label.Trust, label.Users, label.Certified = g.Trust, g.Users, ""
			certified := g.Certified
			sum, err := account.Compose(*g, label)
			if err != nil {
				return nil, err
			}
			*g = sum
			g.Certified = certified
		}
	}
	return []release.GuaranteeStatement{
		{Observer: "everyone colludes", Who: "All hops of the shuffler, the analyzer and the network together: they know which envelopes are yours and open all of them.", Guarantee: local, Note: note},
		{Observer: "one fragment seen", Who: "Somebody who opens a single one of your envelopes, knows that it is yours, and sees your reported class.", Guarantee: one, Note: note},
		{Observer: "shuffler honest", Who: "The analyzer, and whoever reads this release, as long as one hop of the shuffler keeps its permutation to itself.", Guarantee: features, Note: shuffledNote},
	}, nil
}

func (d *density) expected() float64 { return 0 }
