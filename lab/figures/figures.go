// Package figures draws figures of lines for print, each line with a look of its own wherever it appears. Used by
// lab/papers.
package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"regexp"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// Look is how a line is drawn wherever it appears, so that readers of several figures know it
// again: its colour, its mark and its dashes.
type Look struct {
	Colour Colour
	Mark   Mark
	Dashed bool
	Alone  bool // marks without a line: what others printed
}

// Colour is one of the palette.
type Colour int

// The palette, and the ink and a grey for what is compared with.
const (
	Blue Colour = iota
	Vermilion
	Green
	Purple
	Orange
	Sky
	Ink
	Grey
)

// The palette is Okabe and Ito's, as on a release's page.
var (
	palette = []color.RGBA{{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}}
	ink     = color.RGBA{0x1f, 0x23, 0x28, 0xff}
)

func (c Colour) rgba() color.RGBA {
	switch {
	case int(c) < len(palette):
		return palette[c]
	case c == Ink:
		return ink
	}
	return color.RGBA{0x7a, 0x80, 0x88, 0xff}
}

// Mark is the shape of a point.
type Mark int

// Marks that are told apart in print without colour: three full, three hollow, and two of lines.
const (
	Circle Mark = iota
	Square
	Triangle
	Ring
	Box
	Pyramid
	Plus
	Cross
)

var markGlyphs = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, ring{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{}, draw.CrossGlyph{},
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

func xys(x, y []float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return points
}

// Chart is a figure of lines for print, with a look for each of its series.
type Chart struct {
	release.Figure
	Looks []Look
	At    []float64 // where the x axis has its marks; none: where it has them in any figure
}

// Sizes of a chart, and of its legend's columns: type of ten points on a page as wide.
const (
	chartWidth  = 6.5 * vg.Inch
	chartHeight = 4.4 * vg.Inch
	legendGap   = 14
)

// named is a line of the legend.
type named struct {
	words  string
	thumbs []plot.Thumbnailer
}

// add puts a series of a figure into the plot: a line with its marks and its band or bars, or marks alone with bars.
func (l Look) add(p *plot.Plot, f release.Figure, s release.Series) (named, error) {
	points, err := plotter.NewScatter(xys(s.X, s.Y))
	if err != nil {
		return named{}, err
	}
	of := l.Colour.rgba()
	points.GlyphStyle = draw.GlyphStyle{Color: of, Radius: 2.6, Shape: markGlyphs[l.Mark]}
	if l.Alone {
		points.GlyphStyle.Radius = 4.5
		err := errorBars(p, s.X, s, of, 5)
		p.Add(points)
		return named{s.Title, []plot.Thumbnailer{points}}, err
	}
	if err := deviation(p, f, s, of, 0x1c); err != nil {
		return named{}, err
	}
	line, err := plotter.NewLine(xys(s.X, s.Y))
	if err != nil {
		return named{}, err
	}
	line.LineStyle = draw.LineStyle{Color: of, Width: 1.2}
	if l.Dashed {
		line.Dashes = []vg.Length{6, 3}
	}
	p.Add(line, points)
	return named{s.Title, []plot.Thumbnailer{line, points}}, nil
}

// draw fills the canvas: the title above, the legend below in columns, nothing over the data.
func (f Chart) draw(c draw.Canvas) error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Kind != release.Lines || len(f.Looks) != len(f.Series) {
		return fmt.Errorf("chart %s: give lines, and a look for each", f.Name)
	}
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	p := plot.New()
	p.BackgroundColor = nil
	axes(p, f.Figure)
	var all []named
	for i, s := range f.Series {
		e, err := f.Looks[i].add(p, f.Figure, s)
		if err != nil {
			return fmt.Errorf("chart %s: %w", f.Name, err)
		}
		all = append(all, e)
	}
	for _, err := range []error{span(&p.X, f.X.Log), span(&p.Y, f.Y.Log)} {
		if err != nil {
			return fmt.Errorf("chart %s: an axis %w", f.Name, err)
		}
	}
	if len(f.At) > 0 {
		marks := make(plot.ConstantTicks, len(f.At))
		for i, x := range f.At {
			marks[i] = plot.Tick{Value: x, Label: numerals.FormatNumber(x)}
		}
		p.X.Tick.Marker = marks
	}
	p.X.Label.Text = f.X.Title
	c = draw.Crop(c, 10, -14, 8, -8)
	title := style(12.5)
	title.XAlign, title.YAlign = draw.XLeft, draw.YTop
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, f.Title)
	up := style(9.5) // what is drawn upwards stands above the axis: turned and long, it would take room from the data
	up.XAlign, up.YAlign = draw.XLeft, draw.YTop
	c.FillText(up, vg.Point{X: c.Min.X, Y: c.Max.Y - 19}, f.Y.Title)
	columns := legends(all, c.Size().X)
	height, across := vg.Length(0), -vg.Length(legendGap)
	for _, l := range columns {
		height, across = max(height, l.size.Y), across+l.size.X+legendGap
	}
	for what, wide := range map[string]vg.Length{"title": title.Width(f.Title), "title of y": up.Width(f.Y.Title), "title of x": p.X.Label.TextStyle.Width(f.X.Title), "legend": across} {
		if wide > c.Size().X {
			return fmt.Errorf("chart %s: the %s would be cut: shorten it", f.Name, what)
		}
	}
	if height > c.Size().Y/2 {
		return fmt.Errorf("chart %s: a legend of %d lines leaves no room for the data", f.Name, len(all))
	}
	x := c.Min.X
	for _, l := range columns {
		at := c
		at.Min.X, at.Max.X, at.Max.Y = x, x+l.size.X, c.Min.Y+height
		l.Draw(at)
		x += l.size.X + legendGap
	}
	p.Draw(draw.Crop(c, 0, 0, height+10, -38))
	return nil
}

// column is a part of the legend with its size.
type column struct {
	plot.Legend
	size vg.Point
}

// legends are as many columns as fit beside each other, up to three.
func legends(all []named, width vg.Length) []column {
	for n := min(3, len(all)); ; n-- {
		var columns []column
		each, wide := (len(all)+n-1)/n, vg.Length(0)
		for from := 0; from < len(all); from += each {
			l := column{Legend: plot.NewLegend()}
			l.Top, l.Left, l.TextStyle, l.Padding, l.ThumbnailWidth = true, true, style(9.5), 2, 24
			for _, e := range all[from:min(from+each, len(all))] {
				l.Add(e.words, e.thumbs...)
			}
			r := l.Rectangle(draw.Canvas{Rectangle: vg.Rectangle{Max: vg.Point{X: width, Y: width}}})
			const wider = 1.1 // a reader's font may be, than that by which it is measured
			l.size = vg.Point{X: wider * r.Size().X, Y: r.Size().Y}
			columns, wide = append(columns, l), wide+l.size.X+legendGap
		}
		if wide-legendGap <= width || n == 1 {
			return columns
		}
	}
}

// Write draws a chart as SVG.
func Write(w io.Writer, f Chart) error {
	c := vgsvg.New(chartWidth, chartHeight)
	if err := f.draw(draw.New(c)); err != nil {
		return err
	}
	_, err := c.WriteTo(w)
	return err
}

var created = regexp.MustCompile(`/(CreationDate|ModDate) \(D:[0-9]{14}\)`)

// WritePDF draws charts as PDF, each on a page of its own size, with their font inside. The date of its
// making is left out, so that the same numbers give the same file.
func WritePDF(w io.Writer, charts []Chart) error {
	c := vgpdf.New(chartWidth, chartHeight)
	c.EmbedFonts(true)
	for i, f := range charts {
		if i > 0 {
			c.NextPage()
		}
		if err := f.draw(draw.New(c)); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(created.ReplaceAll(b.Bytes(), []byte("/$1 (D:20000101000000)")))
	return err
}
