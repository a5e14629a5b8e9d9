package protocol

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/question/terms"
)

// sizes states what the private sizes of a plan's crowds tell, of whatever question, or why the
// plan's claim of that is false. It states nothing where sizes are public.
//
// Whatever the answers' neighbours are: who is in another crowd leaves one and enters one.
func (p *Protocol) sizes() ([]account.Statement, error) {
	d := p.Plan.Crowd.Deletion
	if d == nil {
		return nil, nil
	}
	g := additive.Crowd{Noise: d.Noise, Threshold: d.Threshold}.Guarantee(account.Replacement)
	if !(d.Epsilon >= g.Epsilon*(1-terms.ClaimSlack) && d.Delta >= g.Delta*(1-terms.ClaimSlack)) {
		return nil, fmt.Errorf("plan: promise does not hold: the noise of crowd.deletion gives epsilon %.9g and delta %.3g, and it claims %.9g and %.3g", g.Epsilon, g.Delta, d.Epsilon, d.Delta)
	}
	s := account.Statement{
		Observer: account.CrowdSizesSeen, Guarantee: g,
		Who:  "The analyzer, and whoever reads this release, looking at what the published crowd sizes reveal about which crowd you are in. The entry hop knows it.",
		Note: "Beside the answers: a respondent who is exchanged for one of another crowd pays this once, and the shuffled guarantee of a replaced answer twice, for the crowd that is left and the one that is entered.",
	}
	if p.Plan.Crowds() == 1 {
		s.Who = "The analyzer, and whoever reads this release, looking at what the published size of the crowd reveals about whether you answered. The entry hop knows it."
		s.Note = "Beside the answer: there is one crowd, and its size tells at most this of whether you answered."
	}
	return []account.Statement{s}, nil
}
