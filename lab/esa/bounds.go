package esa

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/literature"
	"github.com/confetti-dp/confetti/release"
)

// printedBounds is ESA, Table X: central epsilons without attribute fragmenting, of
// the first three rows of Table III.
var printedBounds = map[string][3]float64{
	mapLike: {0.0729, 7.385, 13.14}, horseLike: {1.0766, 2.940, 8.55}, childLike: {0.1517, 5.950, 11.70}, heavyHitters: {0.0788, 7.235, 12.99},
}

// bounds compares bounds on the reports of Table III that do not use that bits
// travel apart.
func bounds() experiments.Spec {
	paper := calibrate.Paper
	return experiments.Spec{
		Name: "esa-table10", Datasets: []string{horseLike, childLike, mapLike, heavyHitters}, Title: "Other bounds on the same reports",
		Paper: "Table X: the smaller of the local epsilon and of the amplification of any randomizer by shuffling. What ESA prints in the first column is half, within 6 %, of the privacy blanket with Hoeffding's inequality at twice the local epsilon, which is what removal becomes under replacement; beside it the closed form that is best today.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			ways := []experiments.Histogram{way(experiments.OneHot, paper, 0)}
			return append(cellsAtLocal(set, 2, ways), cellsAt(set, []float64{0.05, 1}, ways)...)
		},
		Sections: boundTables,
	}
}

func boundTables(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		t := release.Table{
			Title: "Central epsilon of the same reports",
			Columns: []release.Column{{Title: "reports"}, {Title: "local epsilon"}, {Title: "ESA, Table X"}, {Title: "half the blanket"}, {Title: "stronger clones"},
				{Title: "Lemma II.6, each bit apart"}, {Title: "exactly, each bit apart"}},
			Note: "Of each bound the smaller of it and the local epsilon. The first two treat a report as a whole, under replacement; the last two are for removal.",
		}
		for i, m := range cells {
			h := m.Result
			if h == nil {
				continue
			}
			local, printed := *h.EpsilonLocal, release.Text("–")
			if row, ok := printedBounds[set]; ok && i < len(row) {
				printed = release.Number(row[i], 0)
			}
			whole := Bounds(h)
			t.Rows = append(t.Rows, []release.Cell{
				release.Text(budgetOf(m.Cell.Histogram)), release.Text(fmt.Sprintf("%.3f", local)), printed, release.Number(whole[0], 0), release.Number(whole[1], 0),
				release.Number(*h.Epsilon, 0), release.Number(*h.EpsilonExact, 0),
			})
		}
		return release.Section{Tables: []release.Table{t}}
	})
}

// Bounds returns two on the reports of a result as a whole, under replacement: half of the privacy blanket with Hoeffding's
// inequality, which is near to what ESA prints, and the stronger clones.
func Bounds(r *experiments.Result) [2]float64 {
	local := *r.EpsilonLocal
	return [2]float64{wholeBound(r.Respondents, local, r.Delta, blanket) / 2, wholeBound(r.Respondents, local, r.Delta, literature.StrongerClonesClosedForm)}
}

// PrintedBound returns what Table X prints of a population: of local epsilon 2, and of central epsilons 0.05 and 1.
func PrintedBound(set string, row int) float64 { return printedBounds[set][row] }

func blanket(n int, epsilon, delta float64) (account.Guarantee, error) {
	return literature.BlanketAny(n, epsilon, delta, literature.Hoeffding)
}

// wholeBound returns a bound on reports of a local epsilon, for removal, under
// replacement: twice the local epsilon where the bound does not hold or is larger.
func wholeBound(n int, local, delta float64, bound func(n int, epsilon, delta float64) (account.Guarantee, error)) float64 {
	g, err := bound(n, 2*local, delta)
	if err != nil {
		return 2 * local
	}
	return math.Min(2*local, g.Epsilon)
}
