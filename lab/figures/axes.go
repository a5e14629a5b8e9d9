package figures

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/confetti-dp/confetti/internal/release/page"
	"github.com/confetti-dp/confetti/release"
)

// rule is the colour of the lines of a grid.
var rule = color.RGBA{0xd9, 0xdd, 0xe2, 0xff}

// style returns the font of a figure in its ink, in points.
func style(size float64) draw.TextStyle {
	t := plot.New().Legend.TextStyle
	t.Color = ink
	t.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
	return t
}

// axes gives a plot its axes and its grid, before the data are in.
func axes(p *plot.Plot, f release.Figure) {
	p.Title.TextStyle = style(14)
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = draw.XCenter, draw.YTop
	p.Title.Padding = 10
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color = ink
		a.Width = 0.6
		a.Padding = 4
		a.Tick.LineStyle.Color = ink
		a.Tick.LineStyle.Width = 0.6
		a.Tick.Length = 4
		x, y := a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = style(11)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
		rotation := a.Label.TextStyle.Rotation
		a.Label.TextStyle = style(11.5)
		a.Label.TextStyle.Rotation = rotation
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign = draw.XCenter, draw.YBottom
		a.Label.Padding = 6
	}
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0 // the grid is enough
	if f.X.Log {
		p.X.Scale = plot.LogScale{}
	}
	if f.Y.Log {
		p.Y.Scale = plot.LogScale{}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = rule
	grid.Horizontal.Width = 0.7
	p.Add(grid)
}

// span chooses the range and the marks of an axis, once the data are in.
func span(a *plot.Axis, log bool) (err error) {
	var marks []page.Mark
	if a.Min, a.Max, marks, err = page.Span(a.Min, a.Max, log); err != nil {
		return err
	}
	ticks := make(plot.ConstantTicks, len(marks))
	for i, m := range marks {
		ticks[i] = plot.Tick{Value: m.At, Label: m.Text}
	}
	a.Tick.Marker = ticks
	return nil
}

// mostBands is how many bands may lie over each other: where more lines have deviations, each has thin bars in
// their place.
const mostBands = 4

// deviation draws what lies between the low and the high ends of a line: a band as opaque as alpha, or bars; a single point
// has a bar.
func deviation(p *plot.Plot, f release.Figure, s release.Series, c color.RGBA, alpha uint8) error {
	banded := 0
	for _, s := range f.Series {
		if len(s.Low) > 0 {
			banded++
		}
	}
	if len(s.Low) == 1 || banded > mostBands {
		return errorBars(p, s.X, s, c, 3)
	}
	return band(p, s, color.NRGBA{c.R, c.G, c.B, alpha})
}

// band shades what lies between the low and the high ends of a series, where it has any.
func band(p *plot.Plot, s release.Series, c color.Color) error {
	if len(s.Low) == 0 {
		return nil
	}
	outline := xys(s.X, s.High)
	for j := len(s.X) - 1; j >= 0; j-- {
		outline = append(outline, plotter.XY{X: s.X[j], Y: s.Low[j]})
	}
	of, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	of.Color, of.LineStyle.Width = c, 0
	p.Add(of)
	return nil
}

// errorBars draws the intervals of a series as bars with caps.
func errorBars(p *plot.Plot, x []float64, s release.Series, c color.Color, cap vg.Length) error {
	if len(s.Low) == 0 {
		return nil
	}
	data := struct {
		plotter.XYs
		plotter.YErrors
	}{xys(x, s.Low), make(plotter.YErrors, len(x))}
	for j := range s.Low { // from their low ends: an estimate below zero lies outside its own
		data.YErrors[j].High = s.High[j] - s.Low[j]
	}
	bars, err := plotter.NewYErrorBars(data)
	if err != nil {
		return err
	}
	bars.LineStyle = draw.LineStyle{Color: c, Width: 0.9}
	bars.CapWidth = cap
	p.Add(bars)
	return nil
}
