package results

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dp/estimate/number"
	"github.com/confetti-dp/confetti/release"
)

// quantiles that a release states of a number.
var quantiles = []float64{0.05, 0.25, 0.5, 0.75, 0.95}

// distribution adds what buckets say of the number they cut up. A cell for others
// is no bucket: it is left out with its estimated respondents. Without one the edge
// buckets hold what lies outside, too, and are open on that side.
func distribution(m *answers, t *tabulated, s *release.Section) error {
	axis := encode.Axis{Low: t.Asked.Low, High: t.Asked.High, Cells: t.Asked.Cells}
	open := !t.Asked.Others
	if open && axis.Cells == 1 {
		return nil // one bucket of everything
	}
	buckets := number.Buckets{Low: axis.Low, High: axis.High, Open: open, Counts: t.Values[:axis.Cells], Respondents: t.Respondents, Together: t.Together(), Weighted: t.Weighted()}
	if t.Asked.Others {
		buckets.Others = &t.Values[axis.Cells]
	}
	if buckets.Within().Mean < 1 {
		return nil
	}
	d, err := buckets.Distribution(t.Joint(level))
	if err != nil {
		return err
	}
	s.Figures = append(s.Figures, m.cumulative(t, axis, d))
	s.Tables = append(s.Tables, m.quantiles(t, axis, d))
	mean, _ := buckets.Mean()
	s.Metrics = append(s.Metrics, release.Metric{Name: m.key(t, "mean", "_"), Value: mean.Mean, StdErr: mean.StdErr, Truth: t.truth.mean(axis)})
	if !open {
		return nil
	}
	first, last := d.Ends()
	s.Metrics = append(s.Metrics, m.endShare(t, "lowest_bucket", first, 0), m.endShare(t, "highest_bucket", last, axis.Cells-1))
	return nil
}

// endShare returns the share of respondents in an open end bucket.
func (m *answers) endShare(t *tabulated, name string, share estimate.Value, cell int) release.Metric {
	out := release.Metric{Name: m.key(t, name, "_"), Value: share.Mean, StdErr: share.StdErr}
	if n := t.truth.count(cell); n != nil {
		known := *n / float64(max(1, len(t.truth.Numbers)))
		out.Truth = &known
	}
	return out
}

// cumulative returns the distribution function at the edges where it is estimated: all
// upper edges but the highest of an open end bucket.
func (m *answers) cumulative(t *tabulated, axis encode.Axis, d number.Distribution) release.Figure {
	f, series := release.Figure{Name: m.key(t, "distribution", "-")}, release.Series{}
	last, below := axis.Cells, 0
	if d.Open {
		last--
	}
	for i, y := range d.Monotone[:last] {
		series.X, series.Y = append(series.X, axis.Edge(i+1)), append(series.Y, y)
		series.Low, series.High = append(series.Low, min(y, d.Lo[i])), append(series.High, max(y, d.Hi[i]))
		if t.truth != nil && len(t.truth.Numbers) > 0 {
			below += t.truth.Counts[i]
			series.Truth = append(series.Truth, float64(below)/float64(len(t.truth.Numbers)))
		}
	}
	f.Series = []release.Series{series}
	return f
}

// quantiles returns the table of them. What reaches an open end bucket has no end there.
func (m *answers) quantiles(t *tabulated, axis encode.Axis, d number.Distribution) release.Table {
	out := release.Table{Name: "quantiles"}
	for _, q := range quantiles {
		x, low, high := d.Quantile(q)
		estimate, interval := release.Number(x, 0), ended(low, high)
		switch {
		case math.IsInf(x, 1):
			estimate = ended(axis.Edge(axis.Cells-1), x)
		case math.IsInf(x, -1):
			estimate = ended(x, axis.Edge(1))
		}
		row := []release.Cell{release.Number(q, 0), estimate, interval}
		if known, ok := t.truth.quantile(q); ok {
			row = append(row, release.Number(known, 0))
		} else if t.truth != nil {
			row = append(row, release.Cell{})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// ended returns an interval without the ends that it does not have.
func ended(low, high float64) release.Cell {
	c := release.Interval(low, high)
	if math.IsInf(low, -1) {
		c.Low = nil
	}
	if math.IsInf(high, 1) {
		c.High = nil
	}
	return c
}

// places returns the picture of a grid, as fine and as exact as is seen: a release with one
// for each of several crowds should not grow out of hand.
func (m *answers) places(t *tabulated) release.Figure {
	const most = 1 << 9 // cells a side
	x, y := t.Asked.X, t.Asked.Y
	grid := release.Grid{Columns: x.Cells, Left: x.Low, Right: x.High, Bottom: y.Low, Top: y.High, Values: make([]float64, x.Cells*y.Cells)}
	for cell := range grid.Values {
		grid.Values[cell] = t.Values[cell].Mean
	}
	grid = grid.Coarse(most, most)
	for i, v := range grid.Values {
		grid.Values[i] = math.Round(10*v) / 10
	}
	return release.Figure{Name: m.key(t, "grid", "-"), Grid: &grid}
}

// marginals returns the sums of a grid along its axes.
func marginals(t *tabulated) []release.Table {
	columns := t.Asked.X.Cells
	rows, cols := t.Together().Marginals(t.Values[:columns*t.Asked.Y.Cells], columns)
	table := func(axis string, a encode.Axis, sums []estimate.Value, cellsOf func(i int) []int) release.Table {
		out := release.Table{Name: axis}
		for i, v := range sums[:min(len(sums), tableRows)] {
			row := []release.Cell{release.Number(a.Edge(i), 0), release.Number(a.Edge(i+1), 0), release.Number(v.Mean, v.StdErr)}
			if n := t.truth.count(cellsOf(i)...); n != nil {
				row = append(row, release.Number(*n, 0))
			}
			out.Rows = append(out.Rows, row)
		}
		return out
	}
	column := func(i int) (cells []int) {
		for row := range t.Asked.Y.Cells {
			cells = append(cells, row*columns+i)
		}
		return cells
	}
	row := func(i int) (cells []int) {
		for column := range columns {
			cells = append(cells, i*columns+column)
		}
		return cells
	}
	return []release.Table{table("x", encode.Axis(*t.Asked.X), cols, column), table("y", encode.Axis(*t.Asked.Y), rows, row)}
}
