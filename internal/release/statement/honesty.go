package statement

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// stated are the shares of silent or lying respondents that a release speaks of,
// beside the plan's own.
var stated = []float64{0, 0.1, 0.25, 0.5}

// smallest returns how many contributions the smallest released batch holds, 0 where nothing is released.
func smallest(crowds []release.Crowd) (n int) {
	for _, c := range crowds {
		if c.Smallest > 0 && (n == 0 || c.Smallest < n) {
			n = c.Smallest
		}
	}
	return n
}

// before says against whom the guarantee is that the noise of respondents gives.
func (p Plan) before() string {
	if p.Plan.Route.Sum != nil {
		return "Guarantee before one aggregator and the analyzer"
	}
	return "Shuffled guarantee"
}

// honesty returns what is left of the guarantee if a share of those who came is
// silent or lies, and whom it protects from whom.
func (p Plan) honesty(crowds []release.Crowd) release.Section {
	switch {
	case p.Plan.Route.Table != nil:
		return p.holdersHonesty()
	case p.Noised():
		return p.aggregatorsHonesty()
	}
	s := release.Section{Title: "If fewer keep to the protocol"}
	arrived, promised := smallest(crowds), p.Promise.Shuffled
	if arrived == 0 {
		return s
	}
	s.Text = fmt.Sprintf("The smallest released batch holds %d respondents. Respondents who are silent or lie add no noise. The first table gives the guarantee, at delta %g, if a share of them does so. It speaks of respondents who keep to the protocol: those who do not randomize have no guarantee.", arrived, p.Plan.Budget.Delta)
	answer, crowd := p.Words().Answer, p.Words().Crowd
	t := release.Table{
		Title:   p.before() + " by share of silent or malicious respondents",
		Columns: []release.Column{{Title: "silent or malicious", Unit: release.Share}, {Title: "respondents left", Unit: release.Count}, {Title: fmt.Sprintf("epsilon of the %s (%s)", answer, promised.Adjacency)}},
		Note:    fmt.Sprintf("The plan promises epsilon %.4g among %d, a share of %g below its smallest batch.", p.Plan.Budget.Epsilon, p.Plan.MinHonest(), p.Plan.Budget.DishonestShare),
	}
	class := p.Risks().CrowdLoss
	protected := class > 0 && !math.IsInf(class, 1)
	switch {
	case protected:
		t.Columns = append(t.Columns, release.Column{Title: "epsilon with the " + crowd})
		t.Note += fmt.Sprintf(" The %s adds its local epsilon of %.3g, which depends on nobody else.", crowd, class)
	case class > 0 && p.Plan.Crowd.Deletion != nil:
		t.Note += fmt.Sprintf(" The entry hop sees the %s, and of the sizes others see what has a statement of its own.", crowd)
	case class > 0:
		t.Note += fmt.Sprintf(" The %s is sent as it is.", crowd)
	}
	removal := promised.Adjacency == account.Removal
	if removal {
		t.Columns = append(t.Columns, results.ReplacementColumn)
		t.Note += results.ReplacementNote
	}
	shares := append(slices.Clone(stated), p.Plan.Budget.DishonestShare)
	slices.Sort(shares)
	for _, share := range slices.Compact(shares) {
		left := max(1, int(math.Floor((1-share)*float64(arrived)+1e-9)))
		row := []release.Cell{release.Number(share, 0), release.Number(float64(left), 0)}
		g, err := p.GuaranteeWith(left)
		if err != nil {
			g.Epsilon = math.Inf(1) // nothing is proved, which is what the cell says
		}
		row = append(row, results.EpsilonCell(g.Epsilon))
		if protected {
			row = append(row, results.EpsilonCell(g.Epsilon+class))
		}
		if removal {
			row = append(row, results.EpsilonCell(2*g.Epsilon))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Tables = []release.Table{t}
	return s
}

// holdersHonesty says what the guarantee rests on where one holder has all rows.
func (p Plan) holdersHonesty() release.Section {
	return release.Section{Title: "If the holder does otherwise", Text: "The holder has all rows, so that nothing protects them from it. It may publish the counts without noise elsewhere, or choose among answers, and no reader can tell: the guarantee speaks of this page, as its plan says it was made."}
}

// aggregatorsHonesty says what the guarantee rests on where no respondent adds noise.
func (p Plan) aggregatorsHonesty() release.Section {
	s := release.Section{Title: "If an aggregator does not keep to the protocol"}
	s.Text = "No respondent adds noise, so that the guarantee of each is the same however many others are silent or lie. An aggregator that tells the analyzer its noise takes it off the sums; what is left is in the row of that observer. One aggregator alone can falsify the sums, and nobody can tell: the proofs hold devices to the protocol, and not aggregators."
	if p.Plan.Route.Sum.Noise == plan.NoiseShared {
		s.Text += " Each of the two adds half of the noise, so that the promise needs both of them."
	}
	return s
}
