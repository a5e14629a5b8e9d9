package protocol

import (
	"errors"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/plan"
)

// Charge returns what answering the plan costs who answers other plans too, against the
// observers of the shuffled guarantee: charges add up, in whatever order plans were
// asked. It is more than that guarantee where answering is more than one answer
// hidden once:
//
//   - A backstop that is kept may stand behind the answers to several plans. What
//     its own coins hide is then counted once for all of them, and does not add up;
//     the fragments' coins are fresh (docs/histograms-privacy.md).
//   - Where the sizes of crowds are private, who answers from another crowd pays for
//     the sizes, and for the answer in the crowd that is left and in the one that is
//     entered: there another respondent's record stands in its place.
//
// The charge is stated for the neighbours that are asked for, or for those of the
// plan where these are the larger. Removal is that of the respondent from its crowd.
// Neighbours under replacement give one person other answers that repeat themselves where the first
// ones did: that an answer has changed since an earlier plan is not hidden by a
// backstop that is kept. Of a promise of labels the answer is the label: the charge says nothing
// of the features, which that plan has shown, though another plan may keep them secret.
func (p *Protocol) Charge(promise Promise, adjacency account.Adjacency) (account.Guarantee, error) {
	kept, ok := p.kept(promise)
	if !ok {
		return account.Guarantee{}, errors.New("protocol: the plan promises nothing where the shuffler or the aggregators are honest")
	}
	g := kept.Guarantee
	if _, keeps := p.Backstop(); keeps {
		n, risks := p.Plan.MinHonest(), p.risks()
		var err error
		if g, err = p.withOverflow(p.Question.Event(n, true), float64(n)*risks.Overflow, risks.Slack, p.Plan.Budget.Delta); err != nil {
			return account.Guarantee{}, err
		}
	}
	return withSizes(p.Plan, g, adjacency)
}

// withSizes adds to an answer's charge that of a crowd whose size is private, and
// states both for the neighbours that are asked for.
func withSizes(p plan.Plan, g account.Guarantee, adjacency account.Adjacency) (account.Guarantee, error) {
	if g.Adjacency == account.Label {
		// Charges are of what is private: an answer exchanged for any other, in the crowd and
		// with the features that everybody knows.
		g.Adjacency = account.Replacement
	}
	replaced, err := g.Under(account.Replacement)
	if err != nil {
		return account.Guarantee{}, err
	}
	if adjacency == account.Replacement {
		g = replaced
	}
	d := p.Crowd.Deletion
	if d == nil {
		return g, nil
	}
	all := []account.Guarantee{additive.Crowd{Noise: d.Noise, Threshold: d.Threshold}.Guarantee(g.Adjacency), g}
	if p.Crowds() > 1 && g.Adjacency == account.Replacement {
		all = append(all, g)
	} else if p.Crowds() > 1 {
		// The record that takes the place is not the reference: two removals lead to it.
		all[1].Epsilon, all[1].Delta = replaced.Epsilon, replaced.Delta
	}
	sum, err := account.Compose(all...)
	sum.Users = g.Users // the sizes rely on nobody's noise
	return sum, err
}
