package density

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/kde"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// Event: all of a crowd add noise in every channel, and no backstop comes again.
func (d *Question) Event(honest int, _ bool) account.Event {
	if m, ok := d.Bits.(divisible); ok {
		if bits, ok := m.among(honest); ok {
			return kde.Loss(d.Features, thinned(d.plan, bits))
		}
	}
	return nil
}

// Risks returns those of a report's own length, and of the class.
func (d *Question) Risks() question.Risks {
	r := question.Risks{CrowdLoss: math.Inf(1)}
	if d.Labels != nil {
		r.CrowdLoss = d.Labels.Epsilon
	}
	envelopes, channels := d.plan.MostMessages(), d.Features.Channels()
	if b, ok := d.Bits.(varying); ok {
		r.Overflow = b.OverflowProb(channels, envelopes)
	} else if envelopes < channels {
		r.Overflow = 1 // one message a channel, always
	}
	return r
}

// Words speak of features and classes.
func (d *Question) Words() question.Words {
	q := d.plan.Question.Density
	w := question.Words{
		Asked:  fmt.Sprintf("What do the feature vectors of each of %d classes look like? Each respondent holds one vector of %d numbers and its class.", d.plan.Crowds(), q.Dimension),
		Answer: "features", Crowd: "class", Thinning: d.thinning(),
		Unfit: terms.SaysUnfit(d.plan.Question, "a vector without direction, which adds nothing to a density in expectation, of its class or, where it has none, of one drawn at random."),
	}
	for _, name := range d.plan.Crowd.Names {
		w.Crowds = append(w.Crowds, fmt.Sprintf("class %q", name))
	}
	return w
}

// own returns the guarantee of all bits that one device sends, and of one of them that is
// opened where the others are seen shuffled. Protocols that send a varying number of
// messages hide a bit only among other devices': one that sends no message +1 has shown
// its bit.
func (d *Question) own(features account.Guarantee) (local, one account.Guarantee, err error) {
	local = account.Guarantee{
		Epsilon: math.Inf(1), Adjacency: account.Replacement, Trust: account.Local, Users: 1, Rounds: features.Rounds,
		Bound: account.Upper, Method: "sum of the local losses of all bits", Source: "basic composition; one respondent's own randomness",
	}
	one = local
	one.Trust = account.OneFragment
	alone, ok := d.Bits.(flipping)
	if !ok {
		return local, one, nil
	}
	if local.Epsilon = alone.LocalEpsilon(d.Features); math.IsInf(local.Epsilon, 1) {
		return local, one, nil
	}
	one, err = account.OneMessage(kde.Loss(d.Features, d.Bits.Event()), features.Delta)
	return local, one, err
}

// Guarantees adds the class, which is reported beside the features, to each guarantee.
func (d *Question) Guarantees(features account.Guarantee) ([]account.Statement, error) {
	local, one, err := d.own(features)
	if err != nil {
		return nil, err
	}
	note := "Labels are not protected: the reported class is the true one, and the guarantee speaks of the features only."
	shuffledNote := note
	if d.Labels != nil {
		label := d.Labels.Local(account.Replacement)
		note = fmt.Sprintf("Includes the class, which is sent by randomized response of %d classes with epsilon %s.", d.Labels.K, account.AtMost(label.Epsilon, 4))
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
		{Observer: account.EveryoneColludes, Who: terms.Everyone, Guarantee: local, Note: note},
		{Observer: account.OneFragmentSeen, Who: terms.OneFragment + " They see your reported class too.", Guarantee: one, Note: note},
		{Observer: account.ShufflerHonest, Who: terms.ShufflerHonest(d.plan), Guarantee: features, Note: shuffledNote},
	}, nil
}
