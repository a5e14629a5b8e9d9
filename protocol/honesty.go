package protocol

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/release"
)

// stated are the shares of silent or lying respondents that a release speaks of,
// beside the plan's own.
var stated = []float64{0, 0.1, 0.25, 0.5}

// Among is the shuffled guarantee of the features at the plan's delta where only
// so many respondents of a batch add their noise as the plan says, the one in
// question among them. It is an error if nothing can be proved of that noise.
//
// Whoever is relied on may outgrow its envelopes, and is charged for. With many more
// respondents than the plan counts on that takes much of delta: then fewer are relied on,
// and what the others send is left out, which is post-processing.
func (p *Protocol) Among(honest int) (account.Guarantee, error) {
	if honest < 1 {
		return account.Guarantee{}, errors.New("protocol: a guarantee is for a respondent that keeps to the protocol: give at least 1")
	}
	best, err := p.relying(honest)
	if p.risks().Overflow == 0 {
		return best, err
	}
	for relied := honest; relied > p.Plan.HonestMinimum(); {
		relied = max(relied/2, p.Plan.HonestMinimum())
		g, err2 := p.relying(relied)
		if err == nil && (err2 != nil || g.Epsilon >= best.Epsilon) {
			break
		}
		best, err = g, err2
	}
	return best, err
}

// relying is the guarantee that so many respondents' noise gives.
func (p *Protocol) relying(honest int) (account.Guarantee, error) {
	e := p.Question.Loss(honest, false)
	if e == nil {
		return account.Guarantee{}, fmt.Errorf("protocol: no proof covers the noise of %d respondents where %d were to add it", honest, p.Plan.HonestMinimum())
	}
	overflow := float64(honest) * p.risks().Overflow
	return p.withOverflow(e, overflow, p.risks().Slack, p.Plan.Budget.Delta)
}

// withOverflow is the guarantee at delta of reports that together outgrow their
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

// smallest is how many contributions the smallest released batch holds: what
// nobody counted is at least the plan's minimum. ok is false where nothing is released.
func (p *Protocol) smallest(crowds []tally.Crowd) (n int, ok bool) {
	for _, c := range crowds {
		if c.Tally == nil {
			continue
		}
		here := c.Smallest
		if here == 0 {
			here = p.Plan.Crowd.Minimum
		}
		if !ok || here < n {
			n, ok = here, true
		}
	}
	return n, ok
}

// before says against whom the guarantee is that the noise of respondents gives.
func (p *Protocol) before() string {
	if p.Plan.Route.Sum != nil {
		return "Guarantee before one aggregator and the analyzer"
	}
	return "Shuffled guarantee"
}

// honesty is what is left of the guarantee if a share of those who came is
// silent or lies, and whom it protects from whom.
func (p *Protocol) honesty(promised account.Guarantee, crowds []tally.Crowd) release.Section {
	if p.noised() {
		return p.aggregatorsHonesty()
	}
	s := release.Section{Title: "If fewer keep to the protocol"}
	arrived, ok := p.smallest(crowds)
	if !ok {
		return s
	}
	s.Text = fmt.Sprintf("The smallest released batch holds %d respondents. Respondents who are silent or lie add no noise. The first table gives the guarantee, at delta %g, if a share of them does so. It speaks of respondents who keep to the protocol: those who do not randomize have no guarantee.", arrived, p.Plan.Budget.Delta)
	answer, crowd := p.words().Answer, p.words().Crowd
	t := release.Table{
		Title:   p.before() + " by share of silent or malicious respondents",
		Columns: []release.Column{{Label: "silent or malicious", Unit: release.Share}, {Label: "respondents left", Unit: release.Count}, {Label: fmt.Sprintf("epsilon of the %s (%s)", answer, promised.Adjacency)}},
		Note:    fmt.Sprintf("The plan promises epsilon %.4g among %d, a share of %g below its smallest batch.", p.Plan.Budget.Epsilon, p.Plan.HonestMinimum(), p.Plan.Budget.DishonestShare),
	}
	class := p.risks().CrowdLoss
	protected := class > 0 && !math.IsInf(class, 1)
	switch {
	case protected:
		t.Columns = append(t.Columns, release.Column{Label: "epsilon with the " + crowd})
		t.Note += fmt.Sprintf(" The %s adds its local epsilon of %.3g, which depends on nobody else.", crowd, class)
	case class > 0 && p.Plan.Crowd.Deletion != nil:
		t.Note += fmt.Sprintf(" The entry hop sees the %s, and of the sizes others see what has a statement of its own.", crowd)
	case class > 0:
		t.Note += fmt.Sprintf(" The %s is sent as it is.", crowd)
	}
	removal := promised.Adjacency == account.Removal
	if removal {
		t.Columns = append(t.Columns, release.ReplacementColumn)
		t.Note += release.ReplacementNote
	}
	shares := append(slices.Clone(stated), p.Plan.Budget.DishonestShare)
	slices.Sort(shares)
	for _, share := range slices.Compact(shares) {
		left := max(1, int(math.Floor((1-share)*float64(arrived)+1e-9)))
		row := []release.Cell{release.Number(share, 0), release.Number(float64(left), 0)}
		g, err := p.Among(left)
		if err != nil {
			g.Epsilon = math.Inf(1) // nothing is proved, which is what the cell says
		}
		row = append(row, release.EpsilonCell(g.Epsilon))
		if protected {
			row = append(row, release.EpsilonCell(g.Epsilon+class))
		}
		if removal {
			row = append(row, release.EpsilonCell(2*g.Epsilon))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []release.Table{t}
	return s
}
