package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/shuffle"
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

// own is the guarantee of all bits that one device sends, and of one of them that is
// opened where the others are seen shuffled. Protocols that send a varying number of
// messages hide a bit only among other devices': one that sends no message +1 has shown
// its bit.
func (d *density) own(features account.Guarantee) (local, one account.Guarantee, err error) {
	local = account.Guarantee{
		Epsilon: math.Inf(1), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: features.Rounds,
		Bound: account.Upper, Method: "sum of the local losses of all bits", Source: "basic composition; one respondent's own randomness",
	}
	one = local
	one.Trust = account.OneFragment
	rr, ok := d.channel.(shuffle.RandomizedResponse)
	if !ok || rr.Flip == 0 {
		return local, one, nil
	}
	local.Epsilon = kde.LocalEpsilon(d.features, rr.Flip)
	one, err = account.OneMessage(d.loss(), features.Delta)
	return local, one, err
}

func (d *density) observers(features account.Guarantee) ([]account.Statement, error) {
	local, one, err := d.own(features)
	if err != nil {
		return nil, err
	}
	note := "Labels are not protected: the reported class is the true one, and the guarantee speaks of the features only."
	shuffledNote := note
	if d.labels != nil {
		label := d.labels.Local(account.Replacement)
		note = fmt.Sprintf("Includes the class, which is sent by randomized response of %d classes with epsilon %s.", d.labels.K, account.AtMost(label.Epsilon, 4))
		shuffledNote = fmt.Sprintf("Of this, epsilon %s speaks of the features with the reported class fixed, and %s of the class (KDE, Corollary 3.4, communication threat model).", account.AtMost(features.Epsilon, 4), account.AtMost(label.Epsilon, 4))
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

func (d *density) expected() float64 { return 0 }
