package results

import (
	"fmt"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/release"
)

// densityThreats returns those of KDE, Corollary 3.4.
func densityThreats(d *density.Question, features account.Guarantee) []release.Table {
	t := release.Table{
		Title: "Two threat models (KDE, Corollary 3.4)",
		Columns: []release.Column{
			{Title: "threat model"}, {Title: "what is seen"}, {Title: "epsilon of the corollary"}, {Title: "epsilon claimed here for a replaced record"},
		},
	}
	communication, claimed := EpsilonCell(features.Epsilon), release.Text("none: the class is sent as it is")
	if d.Labels != nil {
		sum := features.Epsilon + d.Labels.Epsilon
		communication, claimed = EpsilonCell(sum), EpsilonCell(sum)
		t.Note = fmt.Sprintf("The corollary's %.4g for the model holds for the features with the reported class fixed. Class counts are published, and randomized response reveals how many respondents a class has: we claim the sum in both.", features.Epsilon)
	} else {
		t.Note = "Both speak of the features only, with the class fixed."
	}
	t.Rows = [][]release.Cell{
		{release.Text("communication"), release.Text("how many sent each message, by reported class"), communication, claimed},
		{release.Text("model"), release.Text("this release"), EpsilonCell(features.Epsilon), claimed},
	}
	return []release.Table{t}
}

// fragmentThreats returns what an observer learns that opens some of a device's report fragments.
func fragmentThreats(h *histogram.Question, p plan.Plan, promised account.Guarantee) []release.Table {
	z := p.Question.Histogram.Randomizer
	if !z.OneHot() || z.Fragments <= 1 {
		return nil
	}
	t := release.Table{
		Title:   "If some of your report fragments are opened, and known to be yours",
		Columns: []release.Column{{Title: "fragments opened", Unit: release.Count}, {Title: fmt.Sprintf("epsilon (%s)", promised.Adjacency)}},
		Note:    fmt.Sprintf("At delta %g, the other fragments seen among everybody's: the backstop of epsilon %s is never exceeded, however often the same is asked.", p.Budget.Delta, account.AtMost(z.Backstop, 4)),
	}
	removal := promised.Adjacency == account.Removal
	if removal {
		t.Columns = append(t.Columns, ReplacementColumn)
		t.Note += ReplacementNote
	}
	tau := z.Fragments
	for seen := 1; ; seen = min(2*seen, tau) {
		epsilon := h.Opened(seen).Epsilon
		row := []release.Cell{release.Number(float64(seen), 0), EpsilonCell(epsilon)}
		if removal {
			row = append(row, EpsilonCell(2*epsilon))
		}
		t.Rows = append(t.Rows, row)
		if seen == tau {
			return []release.Table{t}
		}
	}
}
