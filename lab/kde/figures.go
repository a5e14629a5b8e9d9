package kde

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/release"
)

// line is a series in the making: what it is called and what it shows of a cell.
type line struct {
	label string
	value func(m experiments.Measured) (y, spread float64, ok bool)
	cells []experiments.Measured
}

// series returns the line over epsilon; false if it has no point.
func (l line) series() (release.Series, bool) {
	s := release.Series{Title: l.label}
	cells := slices.SortedFunc(slices.Values(l.cells), func(a, b experiments.Measured) int {
		return cmp.Compare(a.Cell.Density.Epsilon, b.Cell.Density.Epsilon)
	})
	banded := false
	for _, m := range cells {
		if m.Result == nil {
			continue
		}
		if y, spread, ok := l.value(m); ok {
			s.X, s.Y = append(s.X, m.Cell.Density.Epsilon), append(s.Y, y)
			s.Low, s.High = append(s.Low, y-spread), append(s.High, y+spread)
			banded = banded || spread > 0
		}
	}
	if !banded {
		s.Low, s.High = nil, nil
	}
	return s, len(s.Y) > 0
}

func accuracyOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.Accuracy, m.Result.AccuracyStd, true
}

func noPrivacyOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.AccuracyNoPrivacy, 0, true
}

func nearestOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.AccuracyNearestMean, m.Result.AccuracyNearestMeanStd, m.Result.AccuracyNearestMean > 0
}

func nearestOpenOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.AccuracyNearestMeanNoPrivacy, 0, m.Result.AccuracyNearestMeanNoPrivacy > 0
}

func errorOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.KDERMSE, 0, m.Result.KDERMSE > 0
}

func messagesOf(m experiments.Measured) (y, spread float64, ok bool) {
	return m.Result.MessagesPerDevice, 0, true
}

func byKernel(m experiments.Measured) string { return m.Cell.Density.Kernel.Name }

// byWay returns the bitsum with its accounting where that makes a difference.
func byWay(m experiments.Measured) string {
	switch m.Cell.Density.Bitsum {
	case "rr":
		if m.Unproved != "" {
			return "RR, no proof"
		}
		return "RR, " + string(m.Cell.Density.Accounting)
	case "3nb":
		if m.Cell.Density.Accounting == experiments.AuthorsAccounting {
			return "3NB, authors' code"
		}
		return "3NB, " + string(m.Cell.Density.Accounting)
	case "pure":
		return "Pure, " + string(m.Cell.Density.Accounting)
	case experiments.Curator:
		return "central"
	case experiments.Holder:
		return "central, of numbers"
	case experiments.RealSums:
		return "sums of numbers, discrete Gaussian"
	case experiments.Local:
		return "RR, local"
	}
	return m.Cell.Density.Bitsum
}

func byKernelAndWay(m experiments.Measured) string { return byKernel(m) + ": " + byWay(m) }

// lines returns one for each name, all showing the same value.
func lines(cells []experiments.Measured, by func(experiments.Measured) string, value func(experiments.Measured) (float64, float64, bool)) []line {
	names, groups := experiments.Split(cells, by)
	var ls []line
	for _, name := range names {
		ls = append(ls, line{name, value, groups[name]})
	}
	return ls
}

// figure draws lines over epsilon; false if none has a point.
func figure(name, title, y string, logarithmic bool, ls []line) (release.Figure, bool) {
	f := release.Figure{
		Name: strings.NewReplacer("_", "-", repeatSign, "-").Replace(name), Title: title, Kind: release.Lines,
		X: release.Axis{Title: "epsilon of the features", Log: true}, Y: release.Axis{Title: y, Log: logarithmic},
	}
	var at []string
	for _, l := range ls {
		s, ok := l.series()
		if !ok {
			continue
		}
		f.Series = append(f.Series, s)
		last := len(s.Y) - 1
		at = append(at, fmt.Sprintf("%s from %.3g at epsilon %g to %.3g at %g", s.Title, s.Y[0], s.X[0], s.Y[last], s.X[last]))
	}
	f.Alt = "Lines over epsilon: " + strings.Join(at, "; ") + "."
	return f, len(f.Series) > 0
}

// table has a row for each line and a column for each epsilon; gaps are dashes.
func table(title, head, unit string, ls []line) release.Table {
	var epsilons []float64
	for _, l := range ls {
		for _, m := range l.cells {
			if !slices.Contains(epsilons, m.Cell.Density.Epsilon) {
				epsilons = append(epsilons, m.Cell.Density.Epsilon)
			}
		}
	}
	slices.Sort(epsilons)
	t := release.Table{Title: title, Columns: []release.Column{{Title: head}}}
	for _, e := range epsilons {
		t.Columns = append(t.Columns, release.Column{Title: fmt.Sprintf("epsilon %g", e), Unit: unit})
	}
	for _, l := range ls {
		row := []release.Cell{release.Text(l.label)}
		for _, e := range epsilons {
			at := slices.IndexFunc(l.cells, func(m experiments.Measured) bool { return m.Cell.Density.Epsilon == e && m.Result != nil })
			cell := release.Text("–")
			if at >= 0 {
				if y, spread, ok := l.value(l.cells[at]); ok {
					cell = release.Number(y, spread)
				}
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// refusals say once for each way why it has gaps, or no promise.
func refusals(cells []experiments.Measured) string {
	names, groups := experiments.Split(cells, byKernelAndWay)
	var gaps, unproved []string
	for _, name := range names {
		for _, m := range groups[name] {
			if m.Result == nil {
				gaps = append(gaps, fmt.Sprintf("%s, from epsilon %g: %s.", name, m.Cell.Density.Epsilon, m.Reason))
				break
			}
		}
		if m := groups[name][0]; m.Unproved != "" && len(unproved) == 0 {
			unproved = append(unproved, fmt.Sprintf("No promise: at epsilon %g %s; drawn is the formula as KDE used it.", m.Cell.Density.Epsilon, m.Unproved))
		}
	}
	if len(gaps) > 0 {
		gaps[0] = "Gaps: " + gaps[0]
	}
	return strings.Join(append(unproved, gaps...), " ")
}

// accuracyFigures returns one figure for each data set and kernel.
func accuracyFigures(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		sec := release.Section{Text: refusals(cells)}
		kernels, of := experiments.Split(cells, byKernel)
		for _, k := range kernels {
			ls := append(lines(of[k], byWay, accuracyOf), line{"no privacy", noPrivacyOf, of[k]})
			if f, ok := figure(s.Name+"-"+set+"-"+k, set+", "+k, "accuracy (share of test records)", false, ls); ok {
				sec.Figures = append(sec.Figures, f)
			}
			sec.Tables = append(sec.Tables, table(k, "accuracy ± deviation over runs", release.Share, ls))
		}
		return sec
	})
}

// accuracyComparison puts all kernels of a data set into one figure.
func accuracyComparison(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		sec := release.Section{Text: refusals(cells)}
		ls := lines(cells, byKernelAndWay, accuracyOf)
		kernels, of := experiments.Split(cells, byKernel)
		nearest := slices.DeleteFunc(slices.Clone(cells), func(m experiments.Measured) bool { return m.Result == nil || m.Result.AccuracyNearestMean == 0 })
		for _, l := range lines(nearest, byKernelAndWay, nearestOf) {
			ls = append(ls, line{l.label + ", nearest", nearestOf, l.cells})
		}
		drawn := slices.Clone(ls)
		for _, k := range kernels {
			ls = append(ls, line{k + ": no privacy", noPrivacyOf, of[k]})
		}
		if len(nearest) > 0 {
			sec.Text += " Lines that end in nearest classify by the nearest class mean, that is with the norms of the means corrected for."
			ls = append(ls, line{"nearest mean: no privacy", nearestOpenOf, nearest})
		}
		if f, ok := figure(s.Name+"-"+set, set, "accuracy (share of test records)", false, drawn); ok {
			sec.Figures = append(sec.Figures, f)
		}
		sec.Tables = append(sec.Tables, table(set, "accuracy ± deviation over runs", release.Share, ls))
		return sec
	})
}

func messageFigures(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return oneFigure(s, cells, messagesOf, ", as many channels as dimensions", "messages a device (mean)", "Messages", "mean a device")
}

func errorFigures(s experiments.Spec, cells []experiments.Measured) []release.Section {
	return oneFigure(s, cells, errorOf, ", gaussian", "root mean square error of a density", "Root mean square error of a density", "at the first 1,000 test records")
}

// oneFigure returns one for each data set, with its numbers as a table.
func oneFigure(s experiments.Spec, cells []experiments.Measured, value func(experiments.Measured) (float64, float64, bool), of, y, title, head string) []release.Section {
	return experiments.PerDataset(cells, func(set string, cells []experiments.Measured) release.Section {
		ls := lines(cells, byWay, value)
		sec := release.Section{Text: refusals(cells), Tables: []release.Table{table(title, head, "", ls)}}
		if f, ok := figure(s.Name+"-"+set, set+of, y, true, ls); ok {
			sec.Figures = append(sec.Figures, f)
		}
		return sec
	})
}
