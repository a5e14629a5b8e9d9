package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/release"
)

// byLabels returns one of Tables 2 to 5: labels as they are with every way, and all levels of labels by the paper's
// numbers, its accounting and the exact one.
func byLabels(name, set string, c Cells) []release.Table {
	of := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Dataset == set && x.Density.Delta == kde.Delta(set)
	})
	first := release.Table{
		Title:   called(set) + ", labels as they are, " + runsOf(of),
		Columns: columns("kernel", "sums", "epsilon", "printed", "the paper's accounting", "authors' code", "exact", "ours", "curator of bits", "who holds the records", "without privacy"),
	}
	levels := release.Table{
		Title:   called(set) + ", by the labels' epsilon: printed / the paper's accounting / exact, " + runsOf(of),
		Columns: columns("kernel", "sums", "epsilon", "as they are", "7", "5", "3", "1"),
	}
	epsilons := slices.DeleteFunc(epsilonsOf(of), func(epsilon float64) bool {
		_, _, ok := kde.Printed(name, "gaussian", "rr", epsilon, 0)
		return !ok
	})
	if ours := rotatedBy(of, epsilons); ours != "" {
		levels.Note = "*Ours* at the same levels: " + ours + "."
	}
	for _, kernel := range []string{"gaussian", "gaussian-projected", "ip-identity"} {
		for _, sums := range []string{"rr", "3nb"} {
			for _, epsilon := range epsilons {
				get := func(bitsum string, by calibrate.Accounting, labels float64) (experiments.Measured, bool) {
					return of.one(func(x experiments.Cell) bool {
						d := x.Density
						return d.Bitsum == bitsum && d.Epsilon == epsilon && d.LabelEpsilon == labels && (d.Kernel.Name == kernel || by == "") && (d.Accounting == by || by == "" && d.Kernel.Name == "ip-rotated")
					})
				}
				text := func(bitsum string, by calibrate.Accounting, labels float64) string {
					m, ok := get(bitsum, by, labels)
					if !ok {
						return none
					}
					s := percent(m.Result.Accuracy, m.Result.AccuracyStd)
					if m.Unproved != "" {
						s += " (no proof)"
					}
					return s
				}
				printed := func(labels float64) string {
					mean, std, ok := kde.Printed(name, printedKernel(kernel), sums, epsilon, labels)
					if !ok {
						return none
					}
					return percent(mean/100, std/100)
				}
				head := []string{kernelWords[kernel], map[string]string{"rr": "RR", "3nb": "3NB"}[sums], fmt.Sprint(epsilon)}
				authors := none
				if sums == "3nb" {
					authors = text(sums, experiments.AuthorsAccounting, 0)
				}
				open := none
				if m, ok := get(sums, calibrate.Exact, 0); ok {
					open = percent(m.Result.AccuracyNoPrivacy, 0)
				}
				shown := row(append(head[:3:3], printed(0), text(sums, calibrate.Paper, 0), authors, text(sums, calibrate.Exact, 0), text("rr", "", 0), text(experiments.Curator, calibrate.Exact, 0), text(experiments.Holder, calibrate.Exact, 0), open)...)
				if shown[4].Text != none || shown[6].Text != none {
					first.Rows = append(first.Rows, shown)
				}
				levelled := 0
				for _, l := range []float64{0, 7, 5, 3, 1} {
					if _, ok := get(sums, calibrate.Exact, l); ok {
						levelled++
					}
					head = append(head, printed(l)+" / "+strings.TrimSuffix(text(sums, calibrate.Paper, l), " (no proof)")+" / "+text(sums, calibrate.Exact, l))
				}
				if levelled > 1 {
					levels.Rows = append(levels.Rows, row(head...))
				}
			}
		}
	}
	if len(of) == 0 {
		return nil
	}
	return []release.Table{first, levels}
}

// rotatedBy returns the accuracy of rotated bits by epsilon and level of labels.
func rotatedBy(c Cells, epsilons []float64) string {
	var parts []string
	for _, epsilon := range epsilons {
		var at []string
		for _, l := range []float64{0, 7, 5, 3, 1} {
			if m, ok := c.one(func(x experiments.Cell) bool {
				return x.Density.Kernel.Name == "ip-rotated" && x.Density.Epsilon == epsilon && x.Density.LabelEpsilon == l
			}); ok {
				at = append(at, percent(m.Result.Accuracy, m.Result.AccuracyStd))
			}
		}
		if len(at) > 0 {
			parts = append(parts, fmt.Sprintf("%s at epsilon %g", strings.Join(at, ", "), epsilon))
		}
	}
	return strings.Join(parts, "; ")
}

// again returns a printed cell by the paper's accounting at its delta, and at that of its authors' program.
func again(c Cells) []release.Table {
	const set, epsilon = "agnews_lsa256@30000", 4.5
	t := release.Table{
		Title:   "The cell of Gaussian densities and RR at epsilon 4.5, labels as they are",
		Columns: columns("delta", "printed", "the paper's accounting (no proof)", "runs"),
		Note:    "The paper says 1e-6 of news; its authors' program has 1e-5 for all data.",
	}
	for _, delta := range []float64{1e-6, 1e-5} {
		m, ok := c.one(func(x experiments.Cell) bool {
			d := x.Density
			return classified(x) && x.Dataset == set && d.Kernel.Name == "gaussian" && d.Bitsum == "rr" && d.Accounting == calibrate.Paper && d.Epsilon == epsilon && d.Delta == delta && d.LabelEpsilon == 0
		})
		if mean, std, printed := kde.Printed("table3", "gaussian", "rr", epsilon, 0); ok && printed {
			t.Rows = append(t.Rows, row(fmt.Sprint(delta), percent(mean/100, std/100), percent(m.Result.Accuracy, m.Result.AccuracyStd), fmt.Sprint(m.Cell.Runs)))
		}
	}
	return []release.Table{t}
}

// crossed has a row for each map and each way to add up, and a column for each epsilon; of inner products also the nearest
// mean, where it was measured.
func crossed(c Cells, set string, maps []string, labels float64) []release.Table {
	of := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Dataset == set && x.Density.LabelEpsilon == labels && slices.Contains(maps, x.Density.Kernel.Name) && x.Density.Delta == kde.Delta(set)
	})
	epsilons := epsilonsOf(of)
	t := release.Table{Title: called(set) + ", accuracy in percent, " + runsOf(of), Columns: columns("map", "sums and accounting")}
	for _, e := range epsilons {
		t.Columns = append(t.Columns, release.Column{Title: fmt.Sprintf("epsilon %g", e)})
	}
	t.Columns = append(t.Columns, release.Column{Title: "the same bits without privacy"})
	for _, kernel := range maps {
		at := of.where(func(x experiments.Cell) bool { return x.Density.Kernel.Name == kernel })
		for _, p := range order {
			for _, nearest := range []bool{false, true} {
				if r, ok := across(at, kernel, p, nearest, epsilons); ok {
					t.Rows = append(t.Rows, r)
				}
			}
		}
	}
	return []release.Table{t}
}

// across returns a row of a map's cells by one way to add up, by the highest density or the nearest mean; false where there are none.
func across(at Cells, kernel string, p protocol, nearest bool, epsilons []float64) ([]release.Cell, bool) {
	name := p.words
	if nearest {
		name += ", nearest mean"
	}
	cells, any, open := row(cmp.Or(kernelWords[kernel], kernel), name), false, none
	for _, e := range epsilons {
		text := none
		if i := slices.IndexFunc(at, func(m experiments.Measured) bool {
			return m.Cell.Density.Epsilon == e && added(m).words == p.words && (!nearest || m.Result.AccuracyNearestMean > 0)
		}); i >= 0 {
			m := at[i]
			mean, std, plain := m.Result.Accuracy, m.Result.AccuracyStd, m.Result.AccuracyNoPrivacy
			if nearest {
				mean, std, plain = m.Result.AccuracyNearestMean, m.Result.AccuracyNearestMeanStd, m.Result.AccuracyNearestMeanNoPrivacy
			}
			if any, text = true, percent(mean, std); m.Unproved != "" {
				text += " (no proof)"
			}
			if p != holder && p != numbers { // the same bits without noise
				open = percent(plain, 0)
			}
		}
		cells = append(cells, words(text))
	}
	return append(cells, words(open)), any
}
