package papers

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/lab/figures"
	"github.com/confetti-dp/confetti/release"
)

// protocol is one in the words of people, with the look that it has in every figure.
type protocol struct {
	words string
	look  figures.Look
}

// line returns one that is measured, and paper one by a paper's accounting: hollow marks and dashes.
func line(c figures.Colour, m figures.Mark) figures.Look { return figures.Look{Colour: c, Mark: m} }
func paper(c figures.Colour, m figures.Mark) figures.Look {
	return figures.Look{Colour: c, Mark: m, Dashed: true}
}

var (
	noPrivacy = protocol{"without privacy", figures.Look{Colour: figures.Grey, Mark: figures.Plus}}
	curator   = protocol{"a curator's noise", figures.Look{Colour: figures.Ink, Mark: figures.Triangle, Dashed: true}}
	holder    = protocol{"who holds the records", figures.Look{Colour: figures.Ink, Mark: figures.Square, Dashed: true}}
	numbers   = protocol{"sums of numbers, devices' noise", line(figures.Ink, figures.Circle)}
	rotated   = protocol{"ours: rotated bits, RR", line(figures.Purple, figures.Circle)}

	rrExact      = protocol{"RR, exact", line(figures.Blue, figures.Circle)}
	rrPaper      = protocol{"RR, the paper's", paper(figures.Blue, figures.Ring)}
	rrUnproved   = protocol{"RR, the paper's (no proof)", paper(figures.Blue, figures.Plus)}
	rrLocal      = protocol{"RR, no shuffler", paper(figures.Sky, figures.Ring)}
	threeExact   = protocol{"3NB, exact", line(figures.Vermilion, figures.Square)}
	threePaper   = protocol{"3NB, the paper's", paper(figures.Vermilion, figures.Box)}
	threeAuthors = protocol{"3NB, authors' code", paper(figures.Orange, figures.Box)}
	pureExact    = protocol{"Pure, exact", line(figures.Green, figures.Triangle)}
	purePaper    = protocol{"Pure, the paper's", paper(figures.Green, figures.Pyramid)}
)

// published returns how what a paper printed for a protocol is drawn: its colour, a cross, no line. of names the data where ours
// stand in for them.
func published(p protocol, of string) protocol {
	return protocol{p.words + ", printed" + of, figures.Look{Colour: p.look.Colour, Mark: figures.Cross, Alone: true}}
}

// summed returns the protocol of a cell of densities.
func summed(m experiments.Measured) protocol {
	d := m.Cell.Density
	exact := d.Accounting == calibrate.Exact
	switch {
	case d.Kernel.Name == "ip-rotated":
		return rotated
	case d.Bitsum == experiments.Curator:
		return curator
	case d.Bitsum == experiments.Holder:
		return holder
	case d.Bitsum == experiments.RealSums:
		return numbers
	case d.Bitsum == experiments.Local:
		return rrLocal
	case d.Bitsum == "rr" && exact:
		return rrExact
	case d.Bitsum == "rr" && m.Unproved != "":
		return rrUnproved
	case d.Bitsum == "rr":
		return rrPaper
	case d.Bitsum == "3nb" && exact:
		return threeExact
	case d.Bitsum == "3nb" && d.Accounting == experiments.AuthorsAccounting:
		return threeAuthors
	case d.Bitsum == "3nb":
		return threePaper
	case exact:
		return pureExact
	}
	return purePaper
}

// chart puts points of protocols into a figure, in the order in which they come.
type chart struct {
	figures.Chart
	at map[string]int
}

func newChart(name, title, alt string, x, y release.Axis) *chart {
	return &chart{Chart: figures.Chart{Figure: release.Figure{Name: name, Title: title, Alt: alt, Kind: release.Lines, X: x, Y: y}}, at: map[string]int{}}
}

// add is a point with its deviation.
func (c *chart) add(p protocol, x, y, spread float64) {
	i, ok := c.at[p.words]
	if !ok {
		i = len(c.Series)
		c.at[p.words], c.Series, c.Looks = i, append(c.Series, release.Series{Title: p.words}), append(c.Looks, p.look)
	}
	s := &c.Series[i]
	low := y - spread
	if c.Y.Log && low <= 0 {
		low = y / 2
	}
	s.X, s.Y, s.Low, s.High = append(s.X, x), append(s.Y, y), append(s.Low, low), append(s.High, y+spread)
}

// apart moves the lines of a figure with a logarithmic x axis aside by a hair each, so that what has the same place
// there stands side by side, in the order of the legend; the axis has its marks at the places themselves, and so has what
// was printed.
func (c *chart) apart(places []float64) {
	const width = 0.38 // all of them, as a logarithm; our epsilons are 0.4 apart at least
	for i := range c.Series {
		if c.Looks[i].Alone {
			continue
		}
		aside := math.Exp(width * ((float64(i)+0.5)/float64(len(c.Series)) - 0.5))
		for j := range c.Series[i].X {
			c.Series[i].X[j] *= aside
		}
	}
	c.At = places
}

// done returns the figure, in which lines without deviations have no band; false where there is nothing to draw.
func (c *chart) done() (figures.Chart, bool) {
	for i := range c.Series {
		s, spread := &c.Series[i], false
		for j := range s.Y {
			spread = spread || s.High[j] > s.Y[j]
		}
		if !spread {
			s.Low, s.High = nil, nil
		}
	}
	c.Alt = fmt.Sprintf("%s %d lines over the %s.", c.Alt, len(c.Series), c.X.Title)
	if len(c.At) > 0 {
		c.X.Title += " (marks side by side)"
	}
	return c.Chart, len(c.Series) > 0
}
