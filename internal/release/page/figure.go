package page

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/release"
)

// palette is Okabe and Ito's, which people with the common forms of colour
// blindness can tell apart, without its yellow (too pale on white) and black (the ink).
var palette = []color.NRGBA{
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
	dashes = [][]float64{nil, {6, 3}, {1.5, 2.5}, {8, 3, 2, 3}}
	glyphs = []func(at point, c color.NRGBA) shape{
		func(at point, c color.NRGBA) shape { return disc{at, 3, c, 0} },
		func(at point, c color.NRGBA) shape {
			return area{box{at.x - 2.6, at.y - 2.6, at.x + 2.6, at.y + 2.6}.path(), c}
		},
		func(at point, c color.NRGBA) shape {
			return area{[]point{{at.x, at.y - 3.6}, {at.x + 3.1, at.y + 2}, {at.x - 3.1, at.y + 2}}, c}
		},
		func(at point, c color.NRGBA) shape { return disc{at, 2.6, c, 0.9} },
	}
)

// The colours of what is no series, of which the page has its own.
var (
	ink  = color.NRGBA{0x1f, 0x23, 0x28, 0xff}
	rule = color.NRGBA{0xd9, 0xdd, 0xe2, 0xff}
)

func seriesColor(i int) color.NRGBA { return palette[i%len(palette)] }

// Sizes of a figure as a file, in points: a slide's proportions, text legible at half width.
const (
	fileWidth  = 576
	fileHeight = 324
	fileScale  = 192.0 / 72 // pixels a point
)

// WriteSVG draws the figure on white with its title, labels and legend.
func WriteSVG(w io.Writer, f release.Figure) error {
	p, err := alone(f)
	if err != nil {
		return err
	}
	return p.writeSVG(w)
}

// WritePNG draws the same picture as WriteSVG, 1536 by 864 pixels.
func WritePNG(w io.Writer, f release.Figure) error {
	p, err := alone(f)
	if err != nil {
		return err
	}
	return p.writePNG(w, fileScale)
}

// Sizes of type, in points, and of what stands between a mark's text and its axis.
const (
	titleSize = 14
	axisSize  = 11.5
	markSize  = 11
	tick      = 4
	gap       = 4
)

// alone draws the figure on white, with all that the page has beside it.
func alone(f release.Figure) (*picture, error) {
	p := &picture{width: fileWidth, height: fileHeight}
	p.add(area{box{0, 0, fileWidth, fileHeight}.path(), color.NRGBA{0xff, 0xff, 0xff, 0xff}})
	room := box{14, 12, fileWidth - 18, fileHeight - 12}
	if len(f.Series) > 1 || f.Grid != nil || known(f) || gappy(f) { // the legend stands beside the data, never over them
		const mark, between, line = 20, 3, 12.6
		const wider = 1.12 // a reader's font may be, than that by which it is measured
		all, widest := entries(f), 0.0
		for _, e := range all {
			widest = max(widest, wider*measure(e.label, markSize))
		}
		left := room.right - widest - between - mark
		for i, e := range all {
			middle := room.top + 36 + line*float64(i)
			p.add(e.swatch(box{left, middle - line/2 + 1.5, left + mark, middle + line/2 - 1.5})...)
			p.add(words{e.label, point{left + mark + between, middle + markSize*0.35}, markSize, start, 0})
		}
		room.right = left - 18
	}
	title, below, beside := words{f.Title, point{0, room.top + titleSize}, titleSize, middle, 0}, words{f.X.Title, point{0, room.bottom - 2}, axisSize, middle, 0},
		words{f.Y.Title, point{room.left + axisSize*0.8, 0}, axisSize, middle, 90}
	if f.Title != "" {
		room.top += titleSize + 12
	}
	if f.X.Title != "" {
		room.bottom -= axisSize + 8
	}
	if f.Y.Title != "" {
		room.left += axisSize + 8
	}
	data, err := p.draw(f, room)
	title.at.x, below.at.x, beside.at.y = (room.left+room.right)/2, (data.left+data.right)/2, (data.top+data.bottom)/2
	for _, t := range []words{title, below, beside} {
		if t.text != "" {
			p.add(t)
		}
	}
	return p, err
}

// axis runs between two numbers along a side of a box.
type axis struct {
	from, to float64
	log      bool
	marks    []Mark
}

// share returns how far a number lies along the axis, from 0 to 1.
func (a axis) share(v float64) float64 {
	if a.log {
		return math.Log(v/a.from) / math.Log(a.to/a.from)
	}
	return (v - a.from) / (a.to - a.from)
}

// plot draws what a figure has into a box, by its axes.
type plot struct {
	*picture
	box
	x, y axis
}

// at returns where a number of x and one of y lie.
func (p plot) at(x, y float64) point {
	return point{p.left + p.x.share(x)*p.width(), p.bottom - p.y.share(y)*p.height()}
}

func (p plot) width() float64 { return p.box.width() }

func (p plot) height() float64 { return p.box.height() }

// draw puts axes and data into a room of the picture, and returns the box of the data.
func (p *picture) draw(f release.Figure, room box) (box, error) {
	if err := f.Validate(); err != nil {
		return box{}, err
	}
	in := plot{picture: p}
	var err error
	if in.x, in.y, err = axes(f); err != nil {
		return box{}, fmt.Errorf("page: figure %s: %w", f.Name, err)
	}
	slant := f.Kind == release.Bars && strings.Count(strings.Join(f.Categories, "  "), "")*6 > int(room.width()) // the names would run into each other
	if slant {
		for i, m := range in.x.marks {
			if name := []rune(m.Text); len(name) > slanted {
				in.x.marks[i].Text = string(name[:slanted-1]) + "…"
			}
		}
	}
	in.box = within(room, f, in.x, in.y, slant)
	in.frame(f, slant)
	for i, s := range f.Series {
		in.series(f, i, s)
	}
	if f.Grid != nil {
		a, b := in.at(f.Grid.Left, f.Grid.Top), in.at(f.Grid.Right, f.Grid.Bottom)
		in.add(photo{box{a.x, a.y, b.x, b.y}, heatmap(*f.Grid)})
	}
	return in.box, nil
}

// slanted is how many letters of a category are drawn where names are slanted: more
// would run off a narrow drawing or take up half its height.
const slanted = 16

// axes returns the axes that all of a figure's numbers lie between.
func axes(f release.Figure) (x, y axis, err error) {
	if g := f.Grid; g != nil {
		x, y = axis{from: g.Left, to: g.Right}, axis{from: g.Bottom, to: g.Top}
	} else {
		x, y = axis{from: math.Inf(1), to: math.Inf(-1), log: f.X.Log}, axis{from: math.Inf(1), to: math.Inf(-1), log: f.Y.Log}
		for _, s := range f.Series {
			for _, values := range [][]float64{s.Y, s.Low, s.High, s.Truth} {
				for _, v := range values {
					y.from, y.to = min(y.from, v), max(y.to, v)
				}
			}
			for _, v := range slices.Concat(s.X, s.Gaps) {
				x.from, x.to = min(x.from, v), max(x.to, v)
			}
		}
	}
	if f.Kind == release.Bars {
		y.from, y.to = min(y.from, 0), max(y.to, 0)
		x = axis{from: -0.5, to: float64(len(f.Categories)) - 0.5}
		for i, c := range f.Categories {
			x.marks = append(x.marks, Mark{float64(i), c})
		}
	} else if x.from, x.to, x.marks, err = Span(x.from, x.to, x.log); err != nil {
		return x, y, fmt.Errorf("x %w", err)
	}
	if y.from, y.to, y.marks, err = Span(y.from, y.to, y.log); err != nil {
		return x, y, fmt.Errorf("y %w", err)
	}
	if f.Kind == release.Bars && y.to > 0 {
		y.to *= 1.03
	}
	return x, y, nil
}

// standoff returns how far the axes stand off the data: bars stand on theirs, and cells fill the plane.
func standoff(f release.Figure) float64 {
	if f.Kind == release.Bars || f.Kind == release.Heat {
		return 0
	}
	return gap
}

// within returns the box of the data: what labels leave of the room.
func within(room box, f release.Figure, x, y axis, slant bool) box {
	b := room
	widest := 0.0
	for _, m := range y.marks {
		widest = max(widest, measure(m.Text, markSize))
	}
	b.left += widest + gap
	below := tick + markSize*1.15
	if slant {
		below = tick + markSize/2
		for _, m := range x.marks {
			below = max(below, tick+(measure(m.Text, markSize)+markSize)*math.Sqrt2/2)
		}
	}
	b.bottom -= below
	off := standoff(f)
	b.left, b.bottom = b.left+off, b.bottom-off
	b.top += markSize / 2 // half a label
	for _, s := range f.Series {
		if f.Kind == release.Points || len(s.Truth) > 0 {
			b.right = min(b.right, room.right-gap) // half a mark
		}
	}
	// Marks below stick out by half, or all where they slant; the box gives way by as much.
	for _, m := range x.marks {
		wide, n := measure(m.Text, markSize), x.share(m.At)
		before, after := wide/2, wide/2
		if slant {
			before, after = wide*math.Sqrt2/2+gap, markSize/2
		}
		if n > 0 {
			b.right = min(b.right, b.left+(room.right-after-b.left)/n)
		}
		if n < 1 {
			b.left = max(b.left, b.right-(b.right-room.left-before)/(1-n))
		}
	}
	if f.Grid != nil {
		b = square(b, *f.Grid)
	}
	return b
}

// frame draws the axes with their labels, and the lines of the grid.
func (p plot) frame(f release.Figure, slant bool) {
	off := standoff(f)
	floor := p.bottom + off
	for _, m := range p.y.marks {
		n := p.y.share(m.At)
		if n < -1e-9 || n > 1+1e-9 {
			continue
		}
		y := p.bottom - n*p.height()
		if f.Grid == nil {
			p.add(stroke{[]point{{p.left, y}, {p.right, y}}, rule, 0.7, nil})
		}
		p.add(words{m.Text, point{p.left - gap - off, y + markSize*0.35}, markSize, end, 0})
	}
	for _, m := range p.x.marks {
		n := p.x.share(m.At)
		if n < -1e-9 || n > 1+1e-9 {
			continue
		}
		x := p.left + n*p.width()
		if slant {
			p.add(words{m.Text, point{x + markSize*0.35, floor + tick + markSize*0.6}, markSize, end, 45})
			continue
		}
		if f.Kind != release.Bars {
			p.add(stroke{[]point{{x, floor}, {x, floor + tick}}, ink, 0.6, nil})
		}
		p.add(words{m.Text, point{x, floor + tick + markSize}, markSize, middle, 0})
	}
	p.add(stroke{[]point{{p.left, floor}, {p.right, floor}}, ink, 0.6, nil})
}

// gapTitle names the marks on the axis where a line has no number.
const (
	gapTitle  = "no row"
	gapHeight = 9
)

// gappy reports whether a line of a figure has no number somewhere.
func gappy(f release.Figure) bool {
	return slices.ContainsFunc(f.Series, func(s release.Series) bool { return len(s.Gaps) > 0 })
}

// entry is a line of a legend.
type entry struct {
	label  string
	swatch func(b box) []shape
}

// entries returns the lines of a figure's legend: its series and the truth, or the shades of its grid.
func entries(f release.Figure) (all []entry) {
	full := func(c color.NRGBA) func(box) []shape {
		return func(b box) []shape { return []shape{area{b.path(), c}} }
	}
	if f.Grid != nil {
		for _, s := range steps(*f.Grid) {
			all = append(all, entry{s.label, full(s.color)})
		}
		return all
	}
	center := func(b box) point { return point{(b.left + b.right) / 2, (b.top + b.bottom) / 2} }
	for i, s := range f.Series {
		e := entry{s.Title, full(seriesColor(i))}
		switch f.Kind {
		case release.Lines:
			e.swatch = func(b box) []shape {
				y := center(b).y
				return []shape{stroke{[]point{{b.left, y}, {b.right, y}}, seriesColor(i), 1.8, dashes[i/len(palette)]}}
			}
		case release.Points:
			e.swatch = func(b box) []shape { return []shape{glyphs[i/len(palette)](center(b), seriesColor(i))} }
		}
		all = append(all, e)
	}
	if known(f) {
		all = append(all, entry{truthTitle, func(b box) []shape { return []shape{hollow(center(b))} }})
	}
	if gappy(f) {
		all = append(all, entry{gapTitle, func(b box) []shape {
			at := center(b)
			return []shape{stroke{[]point{{at.x, b.bottom}, {at.x, b.bottom - gapHeight}}, ink, 1.6, nil}}
		}})
	}
	return all
}
