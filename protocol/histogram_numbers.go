package protocol

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/release"
)

// quantiles that a release states of a number.
var quantiles = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// distribution adds what buckets say of the number they cut up. A cell for others
// is no bucket: it is left out with its estimated respondents.
func distribution(m *HistogramModel, t *HistogramTable, s *release.Section) error {
	axis := encode.Axis{Low: t.asked.Low, High: t.asked.High, Cells: t.asked.Cells}
	values := t.Values[:axis.Cells]
	n := t.Respondents
	if t.asked.Others {
		if n -= int(t.Values[axis.Cells].Mean); n < 1 {
			return nil
		}
	}
	d, err := estimate.Distribute(axis.Low, axis.High, values, n, level)
	if err != nil {
		return err
	}
	f := release.Figure{
		Name: m.key(t, "distribution", "-"), Kind: release.Lines, Title: fmt.Sprintf("Distribution of %s", m.title(t)),
		Alt: fmt.Sprintf("Share of respondents whose %s lies at or below each edge of the buckets, with a band that holds the whole function with probability %g %%.", m.title(t), 100*level),
		X:   release.Axis{Label: t.attribute.name}, Y: release.Axis{Label: "share of respondents (1)"},
	}
	series := release.Series{Label: "share at or below", Y: d.Monotone, Low: make([]float64, axis.Cells), High: make([]float64, axis.Cells)}
	for i, y := range d.Monotone {
		series.X = append(series.X, axis.Edge(i+1))
		series.Low[i], series.High[i] = min(y, d.Lo[i]), max(y, d.Hi[i])
	}
	f.Series = []release.Series{series}
	s.Figures = append(s.Figures, f)
	table := release.Table{
		Title:   fmt.Sprintf("Quantiles of %s", m.title(t)),
		Columns: []release.Column{{Label: "share at or below", Unit: release.Share}, {Label: "estimate"}, {Label: "low"}, {Label: "high"}},
		Note:    fmt.Sprintf("All intervals hold at once with probability %g %%, and end at edges of buckets.", 100*level),
	}
	for _, q := range quantiles {
		x, low, high := d.Quantile(q)
		table.Rows = append(table.Rows, []release.Cell{release.Number(q, 0), release.Number(x, 0), release.Number(low, 0), release.Number(high, 0)})
	}
	s.Tables = append(s.Tables, table)
	mean, half := estimate.BucketMean(axis.Low, axis.High, values, n)
	s.Metrics = append(s.Metrics, release.Metric{
		Name: m.key(t, "mean", "_"), Label: fmt.Sprintf("Mean of %s", m.title(t)), Value: mean.Mean, StdErr: mean.StdErr,
		Note: fmt.Sprintf("each number taken for the middle of its bucket, which may move the mean by up to %.3g", half),
	})
	return nil
}

// places is the picture of a grid, as fine and as exact as is seen: a release with one
// for each of several crowds should not grow out of hand.
func (m *HistogramModel) places(t *HistogramTable) release.Figure {
	const most = 1 << 9 // cells a side
	x, y := t.asked.X, t.asked.Y
	grid := release.Grid{Columns: x.Cells, Left: x.Low, Right: x.High, Bottom: y.Low, Top: y.High, Values: make([]float64, x.Cells*y.Cells)}
	for cell := range grid.Values {
		grid.Values[cell] = t.Values[cell].Mean
	}
	grid = grid.Coarse(most, most)
	for i, v := range grid.Values {
		grid.Values[i] = math.Round(10*v) / 10
	}
	return release.Figure{
		Name: m.key(t, "grid", "-"), Kind: release.Heat, Title: fmt.Sprintf("Where respondents lie: %s", m.title(t)),
		Alt: fmt.Sprintf("Estimated respondents in each of %d by %d cells of %s; the largest holds %s.", x.Cells, y.Cells, m.title(t), release.FormatNumber(grid.Largest())),
		X:   release.Axis{Label: "x"}, Y: release.Axis{Label: "y"}, Grid: &grid,
	}
}

// marginals are the sums of a grid along its axes.
func marginals(t *HistogramTable) []release.Table {
	columns := t.asked.X.Cells
	rows, cols := estimate.Marginals(t.Values[:columns*t.asked.Y.Cells], columns)
	table := func(axis string, a encode.Axis, sums []estimate.Value) release.Table {
		out := release.Table{
			Title:   fmt.Sprintf("Respondents along %s", axis),
			Columns: []release.Column{{Label: "from"}, {Label: "to"}, {Label: "respondents", Unit: release.Count}},
		}
		for i, v := range sums[:min(len(sums), tableRows)] {
			out.Rows = append(out.Rows, []release.Cell{release.Number(a.Edge(i), 0), release.Number(a.Edge(i+1), 0), release.Number(v.Mean, v.StdErr)})
		}
		if len(sums) > tableRows {
			out.Note = fmt.Sprintf("The first %d of %d.", tableRows, len(sums))
		}
		return out
	}
	return []release.Table{table("x", encode.Axis(*t.asked.X), cols), table("y", encode.Axis(*t.asked.Y), rows)}
}
