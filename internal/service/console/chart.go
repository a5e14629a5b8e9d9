package console

import "fmt"

// bar is one line of a chart, in percent of its width.
type bar struct {
	X, Width  float64
	Low, Span float64 // of the interval
	Text      string  // the number
	Interval  string  // in words
}

// line is a value with its bar.
type line struct {
	Name string
	One  bar
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

func (a axis) bar(value, low, high float64) bar {
	from, to := min(0, value), max(0, value)
	return bar{X: a.at(from), Width: max(0.2, a.at(to)-a.at(from)), Low: a.at(low), Span: max(0.3, a.at(high)-a.at(low))}
}

// lines draws the counts of one crowd, as they can be true.
func lines(t table) (all []line) {
	cells := t.order(maxLines)
	var a axis
	for _, cell := range cells {
		n := t.counts[cell]
		a.hold(possible(n), n.LowAll, n.HighAll)
	}
	for _, cell := range cells {
		n := t.counts[cell]
		b := a.bar(possible(n), n.LowAll, n.HighAll)
		b.Text, b.Interval = people(possible(n)), fmt.Sprintf("%s to %s", people(n.LowAll), people(n.HighAll))
		all = append(all, line{n.Value, b})
	}
	return all
}
