package page

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// raster paints shapes on pixels.
type raster struct {
	*image.RGBA
	scale float64 // pixels a point
}

// writePNG writes the picture in so many pixels a point.
func (p *picture) writePNG(w io.Writer, scale float64) error {
	r := &raster{image.NewRGBA(image.Rect(0, 0, int(math.Round(p.width*scale)), int(math.Round(p.height*scale)))), scale}
	for _, s := range p.shapes {
		s.paint(r)
	}
	return png.Encode(w, r.RGBA)
}

// paintWithin draws what lies within an outline that trace hands to the rasterizer, in pixels from the corner of the given
// bounds, which are in points: an outline costs what it covers, not the whole picture.
func (r *raster) paintWithin(b box, c color.NRGBA, trace func(z *vector.Rasterizer, at func(point) (x, y float32))) {
	area := image.Rect(int(math.Floor(b.left*r.scale)), int(math.Floor(b.top*r.scale)), int(math.Ceil(b.right*r.scale)), int(math.Ceil(b.bottom*r.scale))).Intersect(r.Rect)
	if area.Empty() {
		return
	}
	z := vector.NewRasterizer(area.Dx(), area.Dy())
	trace(z, func(p point) (float32, float32) {
		return float32(p.x*r.scale - float64(area.Min.X)), float32(p.y*r.scale - float64(area.Min.Y))
	})
	z.Draw(r.RGBA, area, image.NewUniform(c), image.Point{})
}

// around returns the box around points, widened on each side.
func around(points []point, by float64) box {
	b := box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, p := range points {
		b = box{min(b.left, p.x-by), min(b.top, p.y-by), max(b.right, p.x+by), max(b.bottom, p.y+by)}
	}
	return b
}

// fill paints a polygon.
func (r *raster) fill(points []point, c color.NRGBA) {
	r.paintWithin(around(points, 0), c, func(z *vector.Rasterizer, at func(point) (float32, float32)) { ring(z, points, at) })
}

// ring traces a polygon.
func ring(z *vector.Rasterizer, points []point, at func(point) (float32, float32)) {
	for i, p := range points {
		if x, y := at(p); i == 0 {
			z.MoveTo(x, y)
		} else {
			z.LineTo(x, y)
		}
	}
	z.ClosePath()
}

// stroke paints a line: each dash of each piece is a rectangle, which a sharp turn reaches into with the next.
func (r *raster) stroke(points []point, c color.NRGBA, width float64, dashes []float64) {
	r.paintWithin(around(points, width), c, func(z *vector.Rasterizer, at func(point) (float32, float32)) {
		on, left, turn, before := true, math.Inf(1), 0, point{}
		if len(dashes) > 0 {
			left = dashes[0]
		}
		for i := 1; i < len(points); i++ {
			a, b := points[i-1], points[i]
			long := math.Hypot(b.x-a.x, b.y-a.y)
			if long == 0 {
				continue
			}
			along := point{(b.x - a.x) / long, (b.y - a.y) / long}
			across := point{-along.y * width / 2, along.x * width / 2}
			for from := 0.0; from < long; {
				to := min(long, from+left)
				if on {
					p, q := point{a.x + along.x*from, a.y + along.y*from}, point{a.x + along.x*to, a.y + along.y*to}
					if from == 0 && before != (point{}) && along.x*before.x+along.y*before.y < 0.9 {
						p = point{p.x - along.x*width/2, p.y - along.y*width/2}
					}
					// Each rectangle turns the same way, so that they add up where they overlap.
					ring(z, []point{{p.x + across.x, p.y + across.y}, {q.x + across.x, q.y + across.y}, {q.x - across.x, q.y - across.y}, {p.x - across.x, p.y - across.y}}, at)
				}
				if left -= to - from; left <= 1e-9 {
					on, turn = !on, (turn+1)%len(dashes)
					left = dashes[turn]
				}
				from = to
			}
			before = along
		}
	})
}

// place paints an image into its box, each pixel from the one that lies there.
func (r *raster) place(p photo) {
	area := image.Rect(int(math.Round(p.left*r.scale)), int(math.Round(p.top*r.scale)), int(math.Round(p.right*r.scale)), int(math.Round(p.bottom*r.scale)))
	from := p.Bounds()
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			r.Set(x, y, p.At(from.Min.X+(x-area.Min.X)*from.Dx()/area.Dx(), from.Min.Y+(y-area.Min.Y)*from.Dy()/area.Dy()))
		}
	}
}

// face is what figures are measured and painted with; a page, and an SVG, are written in the reader's own.
var face = func() *sfnt.Font {
	f, err := sfnt.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err) // the font is part of the program
	}
	return f
}()

// em is the size that glyphs are loaded at, in units of the font's own precision.
const em = 1 << 10

// letters hands each letter of a text to visit, with how far from its beginning it stands, at size em, and returns how far all reach.
func letters(text string, visit func(b *sfnt.Buffer, g sfnt.GlyphIndex, from float64)) (reach float64) {
	var b sfnt.Buffer
	for _, letter := range text {
		g, err := face.GlyphIndex(&b, letter)
		if err != nil {
			continue
		}
		if visit != nil {
			visit(&b, g, reach)
		}
		if wide, err := face.GlyphAdvance(&b, g, fixed.I(em), font.HintingNone); err == nil {
			reach += float64(wide) / 64
		}
	}
	return reach
}

// measure returns the width of a text in points.
func measure(text string, size float64) float64 { return letters(text, nil) * size / em }

// write paints a text by the outlines of its letters.
func (r *raster) write(t words) {
	begin := map[anchor]float64{start: 0, middle: -0.5, end: -1}[t.anchor] * measure(t.text, t.size)
	sin, cos := math.Sincos(t.turn * math.Pi / 180)
	place := func(x, y float64) point { // from the base line's own directions
		return point{t.at.x + x*cos + y*sin, t.at.y - x*sin + y*cos}
	}
	letters(t.text, func(b *sfnt.Buffer, g sfnt.GlyphIndex, from float64) {
		outline, err := face.LoadGlyph(b, g, fixed.I(em), nil)
		if err != nil || len(outline) == 0 {
			return
		}
		var all []point
		to := func(p fixed.Point26_6) point {
			k := t.size / em
			return place(begin+(from+float64(p.X)/64)*k, float64(p.Y)/64*k)
		}
		for _, s := range outline {
			for _, p := range s.Args[:map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: 1, sfnt.SegmentOpLineTo: 1, sfnt.SegmentOpQuadTo: 2, sfnt.SegmentOpCubeTo: 3}[s.Op]] {
				all = append(all, to(p))
			}
		}
		r.paintWithin(around(all, 0), ink, func(z *vector.Rasterizer, at func(point) (float32, float32)) {
			for _, s := range outline {
				ax, ay := at(to(s.Args[0]))
				bx, by := at(to(s.Args[1]))
				cx, cy := at(to(s.Args[2]))
				switch s.Op {
				case sfnt.SegmentOpMoveTo:
					z.ClosePath()
					z.MoveTo(ax, ay)
				case sfnt.SegmentOpLineTo:
					z.LineTo(ax, ay)
				case sfnt.SegmentOpQuadTo:
					z.QuadTo(ax, ay, bx, by)
				case sfnt.SegmentOpCubeTo:
					z.CubeTo(ax, ay, bx, by, cx, cy)
				}
			}
			z.ClosePath()
		})
	})
}
