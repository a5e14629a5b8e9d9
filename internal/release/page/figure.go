package page

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/confetti-dp/confetti/release"
)

// palette is Okabe and Ito's, which people with the common forms of colour
// blindness can tell apart, without its yellow (too pale on white) and black (the ink).
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // green
	{0xcc, 0x79, 0xa7, 0xff}, // purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky
}

// dashes set series apart that share a colour; glyphs do the same for points.
// Every colour with every dash makes release.MaxSeries.
var (
	dashes = [][]vg.Length{nil, {6, 3}, {1.5, 2.5}, {8, 3, 2, 3}}
	glyphs = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}}
)

// Neither is pure black or white: SVG leaves defaults out, and the page must find them.
var (
	ink  = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	rule = color.RGBA{0xd9, 0xdd, 0xe2, 0xff}
)

func seriesColor(i int) color.RGBA { return palette[i%len(palette)] }

// Sizes of a figure as a file: a slide's proportions, text legible at half width.
const (
	fileWidth  = 8 * vg.Inch
	fileHeight = 4.5 * vg.Inch
	fileDPI    = 192
)

// WriteSVG draws the figure on white with its title, labels and legend.
func WriteSVG(w io.Writer, f release.Figure) error {
	c := vgsvg.New(fileWidth, fileHeight)
	if err := drawFigure(draw.New(c), f, true); err != nil {
		return err
	}
	_, err := c.WriteTo(w)
	return err
}

// WritePNG draws the same picture as WriteSVG, 1536 by 864 pixels.
func WritePNG(w io.Writer, f release.Figure) error {
	c := vgimg.NewWith(vgimg.UseWH(fileWidth, fileHeight), vgimg.UseDPI(fileDPI))
	if err := drawFigure(draw.New(c), f, true); err != nil {
		return err
	}
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// drawFigure fills the canvas. On its own the figure carries title, labels, legend and a
// white ground; within the page those are the page's, which can wrap and recolour them.
func drawFigure(c draw.Canvas, f release.Figure, alone bool) error {
	if err := f.Validate(); err != nil {
		return err
	}
	p := plot.New()
	p.BackgroundColor = nil
	Axes(p, f, c)
	for i, s := range f.Series {
		if err := series(p, f, i, s); err != nil {
			return fmt.Errorf("page: figure %s: %w", f.Name, err)
		}
	}
	if known(f) {
		p.Legend.Add(truthLabel, hollow(nil))
	}
	if f.Grid != nil {
		if err := heatmap(p, *f.Grid); err != nil {
			return fmt.Errorf("page: figure %s: %w", f.Name, err)
		}
	}
	if err := Ticks(p, f); err != nil {
		return err
	}
	if !alone {
		p.Legend = plot.NewLegend()
		if f.Grid != nil {
			c = square(p, c, *f.Grid)
		}
		p.Draw(roomForNames(p, c))
		return nil
	}
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X.Label, f.Y.Label
	c = draw.Crop(c, 14, -18, 12, -12)
	legend := p.Legend
	p.Legend = plot.NewLegend()
	if len(f.Series) > 1 || f.Grid != nil || known(f) { // beside the data, never over them
		legend.Top, legend.Left = true, true
		legend.TextStyle = Style(11)
		legend.Padding = 3
		r := legend.Rectangle(c)
		const wider = 1.12 // a reader's font may be, than that by which it is measured
		data := c.Size().X - wider*(r.Max.X-r.Min.X) - 18
		legend.Draw(draw.Crop(c, data+18, 0, 0, -30))
		c.Max.X = c.Min.X + data
	}
	if f.Grid != nil {
		c = square(p, c, *f.Grid)
	}
	p.Draw(roomForNames(p, c))
	return nil
}

// roomForNames crops the canvas on the left by what slanted names would stick out there.
func roomForNames(p *plot.Plot, c draw.Canvas) draw.Canvas {
	label := p.X.Tick.Label
	if label.Rotation == 0 {
		return c
	}
	data := p.DataCanvas(c)
	out := vg.Length(0)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		out = max(out, label.Width(t.Label)*vg.Length(math.Cos(label.Rotation))-(data.X(p.X.Norm(t.Value))-c.Min.X))
	}
	return draw.Crop(c, out, 0, 0, 0)
}

// Style returns the font of a figure in its ink, in points.
func Style(size float64) draw.TextStyle {
	t := plot.New().Legend.TextStyle
	t.Color = ink
	t.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, vg.Length(size))
	return t
}

// Axes gives a plot its axes and its grid, before the data are in.
func Axes(p *plot.Plot, f release.Figure, c draw.Canvas) {
	p.Title.TextStyle = Style(14)
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
		a.Tick.Label = Style(11)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = x, y
		rotation := a.Label.TextStyle.Rotation
		a.Label.TextStyle = Style(11.5)
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
	if f.Kind == release.Bars {
		p.X.Padding = 0 // bars stand on the axis
	}
	if f.Kind == release.Heat {
		p.X.Padding, p.Y.Padding = 0, 0 // the cells fill the plane
		return
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = rule
	grid.Horizontal.Width = 0.7
	p.Add(grid)
	if f.Kind == release.Bars && strings.Count(strings.Join(f.Categories, "  "), "")*6 > int(c.Size().X) {
		p.X.Tick.Label.Rotation = math.Pi / 4 // the names would run into each other
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}

func series(p *plot.Plot, f release.Figure, i int, s release.Series) error {
	if f.Kind == release.Bars {
		return bars(p, f, i, s)
	}
	line := draw.LineStyle{Color: seriesColor(i), Width: 1.8, Dashes: dashes[i/len(palette)]}
	if f.Kind == release.Points {
		points, err := plotter.NewScatter(xys(s.X, s.Y))
		if err != nil {
			return err
		}
		points.GlyphStyle = draw.GlyphStyle{Color: seriesColor(i), Radius: 3, Shape: glyphs[i/len(palette)]}
		p.Add(points)
		p.Legend.Add(s.Label, points)
		return marks(p, s.X, s)
	}
	if err := Deviation(p, f, s, seriesColor(i), 0x33); err != nil {
		return err
	}
	curve, err := plotter.NewLine(xys(s.X, s.Y))
	if err != nil {
		return err
	}
	curve.LineStyle = line
	p.Add(curve)
	p.Legend.Add(s.Label, curve)
	if len(s.Truth) > 0 {
		p.Add(hollow(xys(s.X, s.Truth)))
	}
	return nil
}

// mostBands is how many bands may lie over each other: where more lines have deviations, each has thin bars in
// their place.
const mostBands = 4

// Deviation draws what lies between the low and the high ends of a line: a band as opaque as alpha, or bars; a single point
// has a bar.
func Deviation(p *plot.Plot, f release.Figure, s release.Series, c color.RGBA, alpha uint8) error {
	banded := 0
	for _, s := range f.Series {
		if len(s.Low) > 0 {
			banded++
		}
	}
	if len(s.Low) == 1 || banded > mostBands {
		return ErrorBars(p, s.X, s, c, 3)
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

// bars are rectangles in data coordinates, so that error bars stand in their middle
// whatever the width of the canvas. A group takes 0.7 of its place.
func bars(p *plot.Plot, f release.Figure, i int, s release.Series) error {
	width := 0.7 / float64(len(f.Series))
	middles := make([]float64, len(s.Y))
	for j, y := range s.Y {
		middles[j] = float64(j) + (float64(i)-float64(len(f.Series)-1)/2)*width
		l, r := middles[j]-0.46*width, middles[j]+0.46*width
		bar, err := plotter.NewPolygon(plotter.XYs{{X: l}, {X: l, Y: y}, {X: r, Y: y}, {X: r}})
		if err != nil {
			return err
		}
		bar.Color = seriesColor(i)
		bar.LineStyle.Width = 0
		p.Add(bar)
		if j == 0 {
			p.Legend.Add(s.Label, bar)
		}
	}
	return marks(p, middles, s)
}

// truthLabel names the hollow marks.
const truthLabel = "truth"

// known reports whether the truth stands in a figure, as it does in a simulation's.
func known(f release.Figure) bool {
	return slices.ContainsFunc(f.Series, func(s release.Series) bool { return len(s.Truth) > 0 })
}

// hollow are marks that leave what they lie on in sight.
func hollow(at plotter.XYs) *plotter.Scatter {
	return &plotter.Scatter{XYs: at, GlyphStyle: draw.GlyphStyle{Color: ink, Radius: 3.5, Shape: ring{}}}
}

// ring is a circle that is drawn with a line as wide as an error bar's.
type ring struct{}

func (ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.3})
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}

// marks are the errors of a series and, where it is known, the truth.
func marks(p *plot.Plot, x []float64, s release.Series) error {
	if err := ErrorBars(p, x, s, ink, 5); err != nil {
		return err
	}
	if len(s.Truth) > 0 {
		p.Add(hollow(xys(x, s.Truth)))
	}
	return nil
}

// ErrorBars draws the intervals of a series as bars with caps.
func ErrorBars(p *plot.Plot, x []float64, s release.Series, c color.Color, cap vg.Length) error {
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

func xys(x, y []float64) plotter.XYs {
	pts := make(plotter.XYs, len(x))
	for i := range x {
		pts[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return pts
}
