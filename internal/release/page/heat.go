package page

import (
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/confetti-dp/confetti/internal/release/numerals"
	"github.com/confetti-dp/confetti/release"
)

// ramp is what shades run through, from zero to the largest value: evenly darker, so
// that it is read without colour too, by way of the palette's blues.
var ramp = []color.NRGBA{
	{0xf4, 0xf6, 0xf8, 0xff},
	{0x8a, 0xc4, 0xe8, 0xff},
	{0x00, 0x72, 0xb2, 0xff},
	{0x06, 0x23, 0x3d, 0xff},
}

// shade returns the colour of a share of the largest value.
func shade(share float64) color.NRGBA {
	at := min(1, max(0, share)) * float64(len(ramp)-1)
	i := min(int(at), len(ramp)-2)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a)))) }
	a, b := ramp[i], ramp[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// pixels is how many a grid's longer side is drawn with, about: cells are enlarged to
// squares of several, so that no viewer blurs them, or taken together.
const pixels = 1024

// heatmap returns the grid as one image: cell by cell, the file of a large one would be
// too long for anybody's viewer.
func heatmap(g release.Grid) image.Image {
	g = g.Coarse(pixels, pixels)
	each := max(1, pixels/max(g.Columns, g.Rows()))
	scale := g.Largest()
	img := image.NewNRGBA(image.Rect(0, 0, g.Columns*each, g.Rows()*each))
	for y := range img.Rect.Max.Y {
		row := g.Rows() - 1 - y/each // an image begins at the top
		for x := range img.Rect.Max.X {
			share := 0.0
			if v := g.Values[row*g.Columns+x/each]; v > 0 {
				share = v / scale
			}
			img.SetNRGBA(x, y, shade(share))
		}
	}
	return img
}

// step is one shade of the legend.
type step struct {
	label string
	color color.NRGBA
}

// steps returns the shades of the legend, the largest value last.
func steps(g release.Grid) []step {
	const n = 4
	var all []step
	for i := range n + 1 {
		all = append(all, step{numerals.FormatNumber(g.Largest() * (float64(i) / n)), shade(float64(i) / n)})
		if i == 0 {
			all[0].label += " and less"
		}
	}
	return all
}

// square crops a box so that the cells of the grid are squares, as far as no side
// of it gets shorter than a quarter of the other.
func square(b box, g release.Grid) box {
	g = g.Coarse(pixels, pixels)
	ratio := min(4, max(0.25, float64(g.Columns)/float64(g.Rows())))
	if b.width()/b.height() > ratio {
		b.right = b.left + b.height()*ratio
	} else {
		b.top = b.bottom - b.width()/ratio
	}
	return b
}

// column is the values of a grid's column, from the first that there is on.
type column struct {
	First  int
	Values []string
}

// columns returns those of a grid whose values have ranges, for a reader who looks one up.
func columns(f release.Figure) (all []column) {
	g := f.Grid
	if g == nil || len(g.Within) == 0 {
		return nil
	}
	for x := range g.Columns {
		c := column{}
		for y := range g.Rows() {
			v, within := g.Values[y*g.Columns+x], g.Within[y*g.Columns+x]
			if within == 0 {
				continue
			}
			if c.Values == nil {
				c.First = y + 1
			}
			c.Values = append(c.Values, fmt.Sprintf("%s (%s to %s)", number(v), number(max(0, v-within)), number(max(0, v+within))))
		}
		all = append(all, c)
	}
	return all
}
