package kde

import (
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// labelTables have a row for each kernel, bitsum and epsilon, and a column for
// each level of label noise: as KDE prints them, and with that noise taken out.
func labelTables(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		var levels []float64
		for _, m := range cells {
			if !slices.Contains(levels, m.Cell.Density.LabelEpsilon) {
				levels = append(levels, m.Cell.Density.LabelEpsilon)
			}
		}
		fill := func(title string, value func(m experiments.Measured) release.Cell) release.Table {
			t := release.Table{Title: title, Columns: []release.Column{{Title: "kernel"}, {Title: "bitsum"}, {Title: "epsilon"}}}
			for _, l := range levels {
				name := fmt.Sprintf("labels at %g", l)
				if l == 0 {
					name = "labels as they are"
				}
				t.Columns = append(t.Columns, release.Column{Title: name, Unit: release.Share})
			}
			rows, of := experiments.Split(cells, func(m experiments.Measured) string {
				return fmt.Sprintf("%s\n%s\n%g", m.Cell.Density.Kernel.Name, byWay(m), m.Cell.Density.Epsilon)
			})
			for _, name := range rows {
				var row []release.Cell
				for _, head := range strings.Split(name, "\n") {
					row = append(row, release.Text(head))
				}
				for _, l := range levels {
					cell := release.Text("–")
					if i := slices.IndexFunc(of[name], func(m experiments.Measured) bool { return m.Cell.Density.LabelEpsilon == l && m.Result != nil }); i >= 0 {
						cell = value(of[name][i])
					}
					row = append(row, cell)
				}
				t.Rows = append(t.Rows, row)
			}
			return t
		}
		return release.Section{Text: refusals(cells), Tables: []release.Table{
			fill("Accuracy ± deviation over runs", func(m experiments.Measured) release.Cell {
				return release.Number(m.Result.Accuracy, m.Result.AccuracyStd)
			}),
			fill("With the noise of the labels taken out", func(m experiments.Measured) release.Cell {
				if m.Result.AccuracyDebiased == 0 {
					return release.Text("–")
				}
				return release.Number(m.Result.AccuracyDebiased, 0)
			}),
		}}
	})
}

// wordTables name each class by words, a row for each kernel and bitsum.
func wordTables(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title:   "Words of a class",
			Columns: []release.Column{{Title: "class"}, {Title: "kernel"}, {Title: "bitsum"}, {Title: "highest density"}, {Title: "highest above the other classes"}},
		}
		var classes []string
		for _, m := range cells {
			for class := range wordsOf(m) {
				if !slices.Contains(classes, class) {
					classes = append(classes, class)
				}
			}
		}
		slices.Sort(classes)
		for _, class := range classes {
			for _, m := range cells {
				if w, ok := wordsOf(m)[class]; ok {
					t.Rows = append(t.Rows, []release.Cell{
						release.Text(class), release.Text(byKernel(m)), release.Text(byWay(m)),
						release.Text(strings.Join(w.Highest, ", ")), release.Text(strings.Join(w.Apart, ", ")),
					})
				}
			}
		}
		return release.Section{Text: refusals(cells), Tables: []release.Table{t}}
	})
}

func wordsOf(m experiments.Measured) map[string]measure.Decoding {
	if m.Result == nil {
		return nil
	}
	return m.Result.Words
}
