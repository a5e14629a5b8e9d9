package papers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/sgd"
	"github.com/confetti-dp/confetti/release"
)

// trained returns the models of pictures that learned in rounds, in the order of Table XII.
func trained(c Cells, set string) Cells {
	out := c.where(func(x experiments.Cell) bool { return x.Dataset == set && x.Gradient.Report != "" })
	out = slices.DeleteFunc(out, func(m experiments.Measured) bool { return m.Result.Trained == nil })
	columnOf := func(m experiments.Measured) float64 {
		if m.Result.Trained.PrintedOrder == nil || m.Cell.Gradient.Examples == 0 {
			return 1e9
		}
		return float64(int(*m.Result.Trained.PrintedOrder + 0.5))
	}
	slices.SortStableFunc(out, func(a, b experiments.Measured) int {
		return cmp.Or(cmp.Compare(columnOf(a), columnOf(b)), cmp.Compare(a.Cell.Gradient.Report, b.Cell.Gradient.Report), cmp.Compare(a.Cell.Gradient.Users, b.Cell.Gradient.Users))
	})
	return out
}

var pictures = []string{"mnist", "fashion-mnist", "cifar10_subset"}

// gradients is Table XII.
func gradients(c Cells) release.Table {
	t := release.Table{
		Columns: columns("data", "way", "respondents a round", "their examples", "rounds", "printed", "ours", "runs", "the paper claims", "proved", "local epsilon, all rounds"),
		Note:    "A curator's epsilon is of removal. Rows without a printed number are ours: linear models on public features, whom everybody answers in every round, and a curator's DP-SGD with coins really drawn. Of CIFAR-10 half of our 10,000 records are respondents, each of whom stands for ten.",
	}
	for _, set := range pictures {
		for _, m := range trained(c, set) {
			g, r, printed := m.Cell.Gradient, m.Result.Trained, none
			if x, ok := sgd.Printed(set, g); ok {
				printed = percent(x, 0)
			}
			claims := none
			if r.PrintedOrder != nil && g.Examples > 0 {
				claims = fmt.Sprintf("%.3g", *r.PrintedOrder)
			}
			proved := none
			if m.Result.Epsilon != nil {
				proved = number(*m.Result.Epsilon)
			}
			local := none
			if g.Directed() {
				local = localOf(m.Result.EpsilonLocal)
			}
			t.Rows = append(t.Rows, row(called(set), sgd.Way(g), count(m.Result.Users), count(cmp.Or(g.Examples, m.Result.Users)), fmt.Sprint(g.Rounds), printed, percent(r.Accuracy, r.AccuracyStd), fmt.Sprint(m.Result.Runs), claims, proved, local))
		}
	}
	return t
}

// membership is Table XI: the largest models by the paper's way, and what is compared with them.
func membership(c Cells) release.Table {
	t := release.Table{Columns: columns("data", "way", "difference of rates: printed", "ours", "epsilon that the paper claims", "proved", "epsilon shown, 95 %")}
	for _, set := range pictures {
		difference, claimed := sgd.PrintedAttack(set)
		for _, m := range trained(c, set) {
			g, r := m.Cell.Gradient, m.Result.Trained
			if r.Advantage == 0 && r.LowerEpsilon == 0 {
				continue
			}
			of := slices.Index([]string{"direction", experiments.Curator}, g.Report)
			theirs, says := none, none
			if of >= 0 && g.Architecture != "linear" && (g.Examples > 0 || g.Report == experiments.Curator) {
				theirs, says = fmt.Sprint(difference[of]), fmt.Sprint(claimed[of])
			}
			proved := none
			if m.Result.Epsilon != nil {
				proved = number(*m.Result.Epsilon)
			}
			ours := fmt.Sprintf("%.4f", r.Advantage)
			if r.AdvantageStd > 0 {
				ours += fmt.Sprintf(" ± %.4f", r.AdvantageStd)
			}
			t.Rows = append(t.Rows, row(called(set), fmt.Sprintf("%s, %s a round, %d rounds", sgd.Way(g), count(m.Result.Users), g.Rounds), theirs, ours, says, proved, number(r.LowerEpsilon)))
		}
	}
	return t
}

// curves are Figure 2: how the networks of the paper's way learn, with the level at which its own ends.
func curves(c Cells) (out []figures.Chart) {
	level := map[string]float64{"mnist": 0.95, "fashion-mnist": 0.78, "cifar10_subset": 0.70}
	looks := []figures.Look{line(figures.Blue, figures.Circle), line(figures.Vermilion, figures.Square), line(figures.Green, figures.Triangle)}
	for _, set := range pictures {
		f := newChart("figure2-"+stem(set), "Accuracy after each round, "+called(set), "Accuracy on "+called(set)+" after each round.", release.Axis{Title: "round", Log: true}, release.Axis{Title: "accuracy (share of test records)"})
		longest := map[int]experiments.Measured{}
		for _, m := range trained(c, set) {
			if at, ok := longest[m.Result.Users]; m.Cell.Gradient.Examples > 0 && len(m.Result.Trained.Curve) > 2 && (!ok || at.Cell.Gradient.Rounds < m.Cell.Gradient.Rounds) {
				longest[m.Result.Users] = m
			}
		}
		users, last := make([]int, 0, len(longest)), 0
		for n := range longest {
			users = append(users, n)
		}
		slices.Sort(users)
		for i, n := range users {
			for _, p := range longest[n].Result.Trained.Curve {
				f.add(protocol{fmt.Sprintf("%s respondents a round", count(n)), looks[i%len(looks)]}, float64(p.Round), p.Accuracy, 0)
				last = max(last, p.Round)
			}
		}
		if len(users) > 0 {
			f.add(protocol{"the paper's, where it ends", figures.Look{Colour: figures.Ink, Mark: figures.Cross, Alone: true}}, float64(last), level[set], 0)
		}
		if drawn, ok := f.done(); ok {
			out = append(out, drawn)
		}
	}
	return out
}
