package page

import (
	"image/color"
	"slices"

	"github.com/confetti-dp/confetti/release"
)

// series draws one series of a figure.
func (p plot) series(f release.Figure, i int, s release.Series) {
	c := seriesColor(i)
	switch f.Kind {
	case release.Bars:
		p.bars(f, i, s)
	case release.Points:
		for j := range s.X {
			p.add(glyphs[i/len(palette)](p.at(s.X[j], s.Y[j]), c))
		}
		p.errors(s.X, s, ink, 5)
		p.truth(s.X, s)
	default:
		p.deviation(f, s, c)
		p.add(stroke{p.along(s.X, s.Y), c, 1.8, dashes[i/len(palette)]})
		p.truth(s.X, s)
		for _, x := range s.Gaps {
			at := p.left + p.x.share(x)*p.width()
			p.add(stroke{[]point{{at, p.bottom + gap}, {at, p.bottom - gapHeight}}, ink, 1.6, nil})
		}
	}
}

// along returns the places of a line.
func (p plot) along(x, y []float64) (all []point) {
	for j := range x {
		all = append(all, p.at(x[j], y[j]))
	}
	return all
}

// mostBands is how many bands may lie over each other: where more lines have deviations, each has thin bars in
// their place.
const mostBands = 4

// deviation draws what lies between the low and the high ends of a line: a band, or bars; a single point has a bar.
func (p plot) deviation(f release.Figure, s release.Series, c color.NRGBA) {
	banded := 0
	for _, s := range f.Series {
		if len(s.Low) > 0 {
			banded++
		}
	}
	if len(s.Low) == 1 || banded > mostBands {
		p.errors(s.X, s, c, 3)
		return
	}
	if len(s.Low) > 0 {
		back := p.along(s.X, s.Low)
		slices.Reverse(back)
		c.A = 0x33
		p.add(area{append(p.along(s.X, s.High), back...), c})
	}
}

// bars draws a series as bars, with errors in their middle. A group takes 0.7 of its place.
func (p plot) bars(f release.Figure, i int, s release.Series) {
	width := 0.7 / float64(len(f.Series))
	middles := make([]float64, len(s.Y))
	for j, y := range s.Y {
		middles[j] = float64(j) + (float64(i)-float64(len(f.Series)-1)/2)*width
		a, b := p.at(middles[j]-0.46*width, 0), p.at(middles[j]+0.46*width, y)
		p.add(area{box{a.x, a.y, b.x, b.y}.path(), seriesColor(i)})
	}
	p.errors(middles, s, ink, 5)
	p.truth(middles, s)
}

// truthTitle names the hollow marks.
const truthTitle = "truth"

// known reports whether the truth stands in a figure, as it does in a simulation's.
func known(f release.Figure) bool {
	return slices.ContainsFunc(f.Series, func(s release.Series) bool { return len(s.Truth) > 0 })
}

// hollow marks the truth, and leaves what it lies on in sight: its line is as wide as an error bar's.
func hollow(at point) shape { return disc{at, 3.5, ink, 1.3} }

// truth marks where the truth is known.
func (p plot) truth(x []float64, s release.Series) {
	for j, v := range s.Truth {
		p.add(hollow(p.at(x[j], v)))
	}
}

// errors draws the intervals of a series as bars with caps.
func (p plot) errors(x []float64, s release.Series, c color.NRGBA, wide float64) {
	for j := range s.Low {
		low, high := p.at(x[j], s.Low[j]), p.at(x[j], s.High[j])
		for _, line := range [][]point{{low, high}, {{low.x - wide/2, low.y}, {low.x + wide/2, low.y}}, {{high.x - wide/2, high.y}, {high.x + wide/2, high.y}}} {
			p.add(stroke{line, c, 0.9, nil})
		}
	}
}
