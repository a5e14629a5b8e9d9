package page

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
)

// point is a place in a picture: points from the left, and from the top.
type point struct{ x, y float64 }

// box is a rectangle in a picture.
type box struct{ left, top, right, bottom float64 }

func (b box) width() float64  { return b.right - b.left }
func (b box) height() float64 { return b.bottom - b.top }

// path returns the corners of a box.
func (b box) path() []point {
	return []point{{b.left, b.top}, {b.right, b.top}, {b.right, b.bottom}, {b.left, b.bottom}}
}

// picture lists shapes in the order in which they are drawn.
type picture struct {
	width, height float64
	shapes        []shape
}

// shape writes itself as SVG and paints itself on pixels.
type shape interface {
	svg(w *bytes.Buffer, paint func(color.NRGBA) string)
	paint(r *raster)
}

func (p *picture) add(s ...shape) { p.shapes = append(p.shapes, s...) }

// inner writes the shapes of a picture as elements of an SVG; paint names a colour.
func (p *picture) inner(paint func(color.NRGBA) string) string {
	var b bytes.Buffer
	for _, s := range p.shapes {
		s.svg(&b, paint)
	}
	return b.String()
}

// writeSVG writes the picture as a file of its own.
func (p *picture) writeSVG(w io.Writer) error {
	_, err := fmt.Fprintf(w, `<?xml version="1.0"?>
<svg width="%[1]spt" height="%[2]spt" viewBox="0 0 %[1]s %[2]s" font-family="Liberation Sans, Arial, Helvetica, sans-serif" xmlns="http://www.w3.org/2000/svg">
%[3]s</svg>
`, places2(p.width), places2(p.height), p.inner(rgb))
	return err
}

// rgb returns a colour as SVG spells it, without its opacity.
func rgb(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// places2 writes a coordinate, or a size, to a hundredth of a point.
func places2(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}

// outline writes points as the path of an SVG.
func outline(points []point) string {
	var b strings.Builder
	for i, p := range points {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + places2(p.x) + "," + places2(p.y))
	}
	return b.String()
}

// area fills what lies within its points.
type area struct {
	points []point
	color  color.NRGBA
}

func (a area) svg(w *bytes.Buffer, paint func(color.NRGBA) string) {
	opacity := ""
	if a.color.A < 0xff {
		opacity = fmt.Sprintf(` fill-opacity="%.2g"`, float64(a.color.A)/0xff)
	}
	fmt.Fprintf(w, "<path d=\"%sZ\" fill=\"%s\"%s/>\n", outline(a.points), paint(a.color), opacity)
}

func (a area) paint(r *raster) { r.fill(a.points, a.color) }

// stroke draws along its points.
type stroke struct {
	points []point
	color  color.NRGBA
	width  float64
	dashes []float64 // lengths of what is drawn and what is not, in turn; none: all is drawn
}

func (s stroke) svg(w *bytes.Buffer, paint func(color.NRGBA) string) {
	fmt.Fprintf(w, `<path d="%s" fill="none" stroke="%s" stroke-width="%s"`, outline(s.points), paint(s.color), places2(s.width))
	if len(s.dashes) > 0 {
		w.WriteString(` stroke-dasharray="` + dashed(s.dashes) + `"`)
	}
	w.WriteString("/>\n")
}

// dashed writes dashes as SVG has them.
func dashed(lengths []float64) string { return strings.Trim(fmt.Sprint(lengths), "[]") }

func (s stroke) paint(r *raster) { r.stroke(s.points, s.color, s.width, s.dashes) }

// disc fills a circle or, where it has a line, draws its edge.
type disc struct {
	at     point
	radius float64
	color  color.NRGBA
	line   float64 // width of the edge; 0: the circle is full
}

func (d disc) svg(w *bytes.Buffer, paint func(color.NRGBA) string) {
	drawn := `fill="` + paint(d.color) + `"`
	if d.line > 0 {
		drawn = `fill="none" stroke="` + paint(d.color) + `" stroke-width="` + places2(d.line) + `"`
	}
	fmt.Fprintf(w, "<circle cx=\"%s\" cy=\"%s\" r=\"%s\" %s/>\n", places2(d.at.x), places2(d.at.y), places2(d.radius), drawn)
}

func (d disc) paint(r *raster) {
	const corners = 32
	var edge []point
	for i := range corners + 1 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		edge = append(edge, point{d.at.x + d.radius*cos, d.at.y + d.radius*sin})
	}
	if d.line > 0 {
		r.stroke(edge, d.color, d.line, nil)
	} else {
		r.fill(edge, d.color)
	}
}

// anchor says which end of a text lies at its place.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// words writes text in the ink of figures; its base line begins, has its middle or ends at a place.
type words struct {
	text   string
	at     point
	size   float64
	anchor anchor
	turn   float64 // degrees, against the clock
}

func (t words) svg(w *bytes.Buffer, paint func(color.NRGBA) string) {
	fmt.Fprintf(w, `<text x="%s" y="%s"`, places2(t.at.x), places2(t.at.y))
	if t.turn != 0 {
		fmt.Fprintf(w, ` transform="rotate(%s %s %s)"`, places2(-t.turn), places2(t.at.x), places2(t.at.y))
	}
	fmt.Fprintf(w, " font-size=\"%s\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", places2(t.size), t.anchor, paint(ink), html.EscapeString(t.text))
}

func (t words) paint(r *raster) { r.write(t) }

// photo fills a box with an image.
type photo struct {
	box
	image.Image
}

func (p photo) svg(w *bytes.Buffer, _ func(color.NRGBA) string) {
	var b bytes.Buffer
	if err := png.Encode(&b, p.Image); err != nil {
		panic(err) // of an image that is larger than the format can say: cells are taken together before
	}
	fmt.Fprintf(w, "<image x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" preserveAspectRatio=\"none\" href=\"data:image/png;base64,%s\"/>\n",
		places2(p.left), places2(p.top), places2(p.width()), places2(p.height()), base64.StdEncoding.EncodeToString(b.Bytes()))
}

func (p photo) paint(r *raster) { r.place(p) }
