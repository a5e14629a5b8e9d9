package esa

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// tables have a row for each cell, beside what ESA prints for it.
func tables(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		var gaps []string
		t := release.Table{
			Title: "Root mean square error, in respondents",
			Columns: []release.Column{{Title: "budget"}, {Title: "reports"}, {Title: "ESA"}, {Title: "RMSE"}, {Title: "within bounds"}, {Title: "unbiased"}, {Title: "largest error"},
				{Title: "local epsilon"}, {Title: "one fragment alone"}, {Title: "central epsilon, exactly"}, {Title: "messages"}, {Title: "bytes", Unit: release.Bytes}},
			Note: "Estimates are taken to zero where they are below; \"within bounds\" to the largest count that the public knows to be possible too. \"paper\" is ESA's accounting, Lemma II.6, \"exact\" ours; local epsilons are for removal. The column of exact central epsilons is what the very same reports keep.",
		}
		for _, m := range cells {
			h := m.Result
			if h == nil {
				gaps = append(gaps, fmt.Sprintf("No %s: %s.", m.Cell.Histogram, m.Reason))
				continue
			}
			printed := release.Text("–")
			if x, ok := Printed(s.Name, set, m.Cell.Histogram); ok {
				printed = release.Number(x, 0)
			}
			central := "–"
			if e := cmp.Or(h.EpsilonExact, h.Epsilon); e != nil {
				central = fmt.Sprintf("%.3g", *e)
			}
			within := release.Text("–")
			if h.Within > 0 {
				within = release.Number(h.Within, 0)
			}
			t.Rows = append(t.Rows, []release.Cell{
				release.Text(budgetOf(m.Cell.Histogram)), release.Text(m.Cell.Histogram.Way()), printed, release.Number(h.RMSE, h.RMSEStd), within, release.Number(h.Unbiased, 0), release.Number(h.Linf, 0),
				release.Text(claimed(h.EpsilonLocal)), release.Text(claimed(h.EpsilonAlone)), release.Text(central),
				release.Number(h.MessagesPerDevice, 0), release.Number(float64(h.BytesPerDevice), 0),
			})
		}
		if len(cells) > 0 && isPicture(cells) {
			gaps = append([]string{fmt.Sprintf("Pictures: %s; from the left the truth, %s.", sheetName(s, set), strings.Join(waysOf(cells), "; "))}, gaps...)
		}
		sec := release.Section{Text: strings.Join(gaps, " "), Tables: []release.Table{t}}
		if f, ok := errorFigure(s, set, cells); ok {
			sec.Figures = append(sec.Figures, f)
		}
		return sec
	})
}

// errorFigure draws errors over central epsilons; false where there is only one.
func errorFigure(s experiments.Spec, set string, cells []experiments.Measured) (release.Figure, bool) {
	f := release.Figure{
		Name: s.Name + "-" + stem(set), Title: fmt.Sprintf("Errors of %s", set), Kind: release.Lines,
		Alt: fmt.Sprintf("Root mean square error of the histogram of %s against the central epsilon, a line for each way to report.", set),
		X:   release.Axis{Title: "central epsilon", Log: true}, Y: release.Axis{Title: "root mean square error (respondents)", Log: true},
	}
	names, of := experiments.Split(cells, func(m experiments.Measured) string { return m.Cell.Histogram.Way() })
	budgets := map[float64]bool{}
	for _, name := range names {
		line := release.Series{Title: name}
		for _, m := range of[name] {
			if h := m.Result; h != nil && m.Cell.Histogram.Epsilon > 0 {
				line.X, line.Y = append(line.X, m.Cell.Histogram.Epsilon), append(line.Y, h.RMSE)
				budgets[m.Cell.Histogram.Epsilon] = true
			}
		}
		if len(line.X) > 0 {
			f.Series = append(f.Series, line)
		}
	}
	return f, len(budgets) > 1
}

// isPicture says whether the cells' population is one: its luminosity has a bound.
func isPicture(cells []experiments.Measured) bool {
	return slices.ContainsFunc(cells, func(m experiments.Measured) bool { return m.Result != nil && m.Result.Within > 0 })
}

func budgetOf(h experiments.Histogram) string {
	if h.LocalEpsilon == noNoise {
		return "no privacy"
	}
	return h.Target()
}
