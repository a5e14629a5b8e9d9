package console

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/sheets"
)

// bar is one line of a chart, in percent of its width.
type bar struct {
	X, Width  float64
	Low, Span float64 // of the interval; 0, 0: none is drawn
	Text      string  // the number
	Interval  string  // in words
	Truth     string
}

// line is a value with its bar, and beside another crowd a second one.
type line struct {
	Cell       int
	Name       string
	Picked     bool
	One        bar
	Two        *bar
	Difference string
	Apart      bool // the difference is not zero, surely
}

// axis is what the width of a chart stands for.
type axis struct{ low, high float64 }

func (a *axis) hold(xs ...float64) {
	for _, x := range xs {
		a.low, a.high = min(a.low, x), max(a.high, x)
	}
}

func (a axis) at(x float64) float64 {
	if a.high == a.low {
		return 0
	}
	return 100 * (min(max(x, a.low), a.high) - a.low) / (a.high - a.low)
}

func (a axis) bar(value, low, high float64, interval bool) bar {
	from, to := min(0, value), max(0, value)
	b := bar{X: a.at(from), Width: max(0.2, a.at(to)-a.at(from))}
	if interval {
		b.Low, b.Span = a.at(low), max(0.3, a.at(high)-a.at(low))
	}
	return b
}

// lines draws the values: counts of one crowd, or shares of two.
func (v *releaseView) lines(first table, second *table, picks []int) {
	cells := first.order(maxLines)
	v.Shown, v.All = len(cells), len(first.counts)
	shares := second != nil && first.Respondents > 0 && second.Respondents > 0
	scaled := func(t table, n sheets.ValueCount) (x, low, high float64) {
		x, low, high = n.Estimate, n.LowAll, n.HighAll
		if v.Consistent {
			x = n.Consistent
		}
		if v.possible {
			x = possible(n)
		}
		if shares {
			x, low, high = t.share(x), t.share(low), t.share(high)
		}
		return x, low, high
	}
	text := func(x float64) string {
		if shares {
			return share(x)
		}
		return people(x)
	}
	var a axis
	for _, cell := range cells {
		a.hold(scaled(first, first.counts[cell]))
		if second != nil {
			a.hold(scaled(*second, second.counts[cell]))
		}
	}
	barOf := func(t table, n sheets.ValueCount) bar {
		x, low, high := scaled(t, n)
		b := a.bar(x, low, high, !v.Consistent)
		b.Text = text(x)
		if !v.Consistent {
			b.Interval = fmt.Sprintf("%s to %s", text(low), text(high))
		}
		if n.Truth != nil {
			b.Truth = people(*n.Truth)
		}
		return b
	}
	for _, cell := range cells {
		n := first.counts[cell]
		l := line{Cell: cell, Name: n.Value, Picked: slices.Contains(picks, cell), One: barOf(first, n)}
		if second != nil {
			m := second.counts[cell]
			two := barOf(*second, m)
			l.Two = &two
			if shares && !v.Consistent {
				x, xl, xh := scaled(first, n)
				y, yl, yh := scaled(*second, m)
				d, low, high := estimate.Minus(x, xl, xh, y, yl, yh)
				l.Difference, l.Apart = fmt.Sprintf("%s (%s to %s)", points(d), points(low), points(high)), low > 0 || high < 0
			}
		}
		v.Lines = append(v.Lines, l)
	}
}
