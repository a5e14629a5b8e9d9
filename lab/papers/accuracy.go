package papers

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/lab/kde"
	"github.com/confetti-dp/confetti/release"
)

// drawn are the epsilons of figures; tables have others.
var drawn = []float64{0.5, 1, 2, 4, 7}

// accuracies returns a figure for each data set and kernel. needs names a bitsum that a set must have been measured by.
func accuracies(name string, labels float64, c Cells, needs ...string) (out []figures.Chart) {
	at := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Density.LabelEpsilon == labels && slices.Contains(drawn, x.Density.Epsilon)
	})
	for _, set := range datasets(at) {
		for _, kernel := range []string{"gaussian", "gaussian-projected", "ip-identity"} {
			of := at.where(func(x experiments.Cell) bool {
				return x.Dataset == set && (x.Density.Kernel.Name == kernel || x.Density.Kernel.Name == "ip-rotated") && (x.Density.Bitsum != experiments.Local || slices.Contains(needs, experiments.Local))
			})
			if !has(of, kernel, needs) {
				continue
			}
			f := newChart(name+"-"+stem(set)+"-"+stem(kernel), fmt.Sprintf("%s, %s, labels at epsilon %g", called(set), kernelWords[kernel], labels),
				fmt.Sprintf("Accuracy on %s against epsilon, %s.", called(set), runsOf(of)), release.Axis{Title: "epsilon of the features", Log: true}, release.Axis{Title: "accuracy (share of test records), and its deviation over " + runsOf(of)})
			for _, m := range sorted(of) {
				f.add(summed(m), m.Cell.Density.Epsilon, m.Result.Accuracy, m.Result.AccuracyStd)
			}
			for _, m := range sorted(of) {
				if m.Cell.Density.Kernel.Name == kernel && m.Cell.Density.Bitsum == "rr" && m.Cell.Density.Accounting == calibrate.Exact {
					f.add(noPrivacy, m.Cell.Density.Epsilon, m.Result.AccuracyNoPrivacy, 0)
				}
			}
			for _, sums := range []protocol{rrPaper, threePaper} {
				bitsum := map[string]string{rrPaper.words: "rr", threePaper.words: "3nb"}[sums.words]
				for _, epsilon := range []float64{1.5, 2, 3, 4.5, 4.7, 7} {
					if mean, std, ok := kde.Printed(printedOf[set], printedKernel(kernel), bitsum, epsilon, labels); ok && len(needs) == 0 {
						f.add(published(sums, standsFor[set]), epsilon, mean/100, std/100)
					}
				}
			}
			f.apart(epsilonsOf(of))
			if one, ok := f.done(); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

// has says whether a kernel was measured at more than three epsilons, and by what is needed.
func has(c Cells, kernel string, bitsums []string) bool {
	of := c.where(func(x experiments.Cell) bool { return x.Density.Kernel.Name == kernel })
	for _, b := range bitsums {
		if _, ok := of.one(func(x experiments.Cell) bool { return x.Density.Bitsum == b }); !ok {
			return false
		}
	}
	return len(epsilonsOf(of)) > 3
}

// overEpsilon returns a figure for each data set, on logarithmic axes.
func overEpsilon(c Cells, name, title, y string, pick func(experiments.Cell) bool, value func(*experiments.Result) (float64, float64)) (out []figures.Chart) {
	at := c.where(pick)
	for _, set := range datasets(at) {
		of := at.where(func(x experiments.Cell) bool { return x.Dataset == set })
		f := newChart(name+"-"+stem(set), title+", "+called(set), title+" on "+called(set)+" against epsilon.", release.Axis{Title: "epsilon of the features", Log: true}, release.Axis{Title: y, Log: true})
		for _, m := range sorted(of) {
			if v, spread := value(m.Result); v > 0 {
				f.add(summed(m), m.Cell.Density.Epsilon, v, spread)
			}
		}
		f.apart(epsilonsOf(of))
		if one, ok := f.done(); ok {
			out = append(out, one)
		}
	}
	return out
}

// alone sets randomized response that hides each bit by itself beside that behind a shuffler, at the same epsilon: what
// equal local and equal central epsilon come to.
func alone(labels float64, c Cells) (tables []release.Table) {
	at := c.where(func(x experiments.Cell) bool {
		return classified(x) && x.Density.LabelEpsilon == labels && (x.Density.Bitsum == experiments.Local || x.Density.Bitsum == "rr" && x.Density.Accounting == calibrate.Exact)
	})
	for _, set := range datasets(at) {
		of := at.where(func(x experiments.Cell) bool { return x.Dataset == set })
		t := release.Table{Title: called(set) + ", the same epsilon though everyone colludes (local), and behind an honest shuffler (central)", Columns: columns("kernel", "epsilon", "RR, that epsilon local", "RR, that epsilon central, exact", "without privacy")}
		for _, kernel := range []string{"gaussian", "gaussian-projected", "ip-identity"} {
			for _, epsilon := range epsilonsOf(of) {
				get := func(bitsum string) (experiments.Measured, bool) {
					return of.one(func(x experiments.Cell) bool {
						return x.Density.Kernel.Name == kernel && x.Density.Bitsum == bitsum && x.Density.Epsilon == epsilon
					})
				}
				local, have := get(experiments.Local)
				central, found := get("rr")
				if have && found {
					t.Rows = append(t.Rows, row(kernelWords[kernel], fmt.Sprint(epsilon), percent(local.Result.Accuracy, local.Result.AccuracyStd), percent(central.Result.Accuracy, central.Result.AccuracyStd), percent(central.Result.AccuracyNoPrivacy, 0)))
				}
			}
		}
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}
