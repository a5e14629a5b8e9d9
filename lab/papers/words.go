package papers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// mapRank returns the place of a cell's map where words are listed.
func mapRank(m experiments.Measured) int {
	return slices.Index([]string{"gaussian", "gaussian-paired", "ip-identity", "ip-rotated"}, m.Cell.Density.Kernel.Name)
}

// decoded returns the words of classes at an epsilon, a table for each data set.
func decoded(epsilon float64, c Cells) (out []release.Table) {
	at := c.where(func(x experiments.Cell) bool {
		return ofDensity(x) && x.Density.Words > 0 && x.Density.Epsilon == epsilon && x.Density.Accounting == calibrate.Exact
	})
	for _, set := range datasets(at) {
		t := release.Table{Title: called(set) + ", exact accounting", Columns: columns("class", "kernel", "sums", "words")}
		of := at.where(func(x experiments.Cell) bool { return x.Dataset == set })
		slices.SortStableFunc(of, func(a, b experiments.Measured) int {
			return cmp.Or(cmp.Compare(mapRank(a), mapRank(b)), cmp.Compare(rank(a), rank(b)))
		})
		var classes []string
		for class := range of[0].Result.Words {
			classes = append(classes, class)
		}
		slices.Sort(classes)
		for _, class := range classes {
			for _, m := range of {
				w := m.Result.Words[class]
				t.Rows = append(t.Rows, row(class, cmp.Or(kernelWords[m.Cell.Density.Kernel.Name], m.Cell.Density.Kernel.Name), strings.ToUpper(m.Cell.Density.Bitsum), strings.Join(w.Highest, ", ")+" ("+strings.Join(w.Apart, ", ")+")"))
			}
		}
		out = append(out, t)
	}
	return out
}
