package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/kde"
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

func (d *density) observers(features account.Guarantee) ([]account.Statement, error) {
	local := account.Guarantee{
		Epsilon: d.bitLoss() * float64(d.rounds()), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: d.rounds(),
		Bound: account.Exact, Method: "sum of the local losses of all bits", Source: "basic composition; one respondent's own randomness",
	}
	if d.rounds() > 1 {
		local.Bound = account.Upper // no value drives every bit from one extreme to the other
	}
	one, err := d.oneSeen(local, features)
	if err != nil {
		return nil, err
	}
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
	return []account.Statement{
		{Observer: account.EveryoneColludes, Who: everyone, Guarantee: local, Note: note},
		{Observer: account.OneFragmentSeen, Who: oneFragment + " They see your reported class too.", Guarantee: one, Note: note},
		{Observer: account.ShufflerHonest, Who: shufflerHonest(d.plan), Guarantee: features, Note: shuffledNote},
	}, nil
}

// oneSeen is the guarantee of the features where one fragment is opened: that of its bit,
// which does not depend on the rest, and of the others shuffled.
func (d *density) oneSeen(local, features account.Guarantee) (account.Guarantee, error) {
	one := account.Guarantee{
		Epsilon: d.bitLoss(), Adjacency: local.Adjacency, Trust: account.OneFragment, Users: 1, Rounds: 1,
		Bound: account.Exact, Method: "local loss of one bit", Source: local.Source,
	}
	rr, ok := d.channel.(account.RandomizedResponse)
	if !ok || d.rounds() == 1 {
		return one, nil
	}
	rest := d.loss()
	if r, ok := rest.(account.Repeat); ok {
		r.Rounds--
		rest = r
	}
	shuffled := features
	shuffled.Trust = one.Trust
	sum, err := account.Compose(one, shuffled)
	if err != nil {
		return one, err
	}
	rr.Users = 1
	g, err := account.Epsilon(account.All{Events: []account.Event{rr, rest}}, features.Delta)
	if err != nil || sum.Epsilon <= g.Epsilon { // not all compose
		g = sum
	}
	if g.Epsilon >= local.Epsilon {
		local.Trust = account.OneFragment
		return local, nil
	}
	g.Trust, g.Users, g.Bound, g.Method = account.OneFragment, features.Users, account.Upper, "one bit seen, and the others shuffled: "+features.Method
	return g, nil
}

func (d *density) expected() float64 { return 0 }
