package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/release"
)

func TestFiguresAreDrawn(t *testing.T) {
	for _, s := range sample(t).Sections {
		for _, f := range s.Figures {
			var svg, raster bytes.Buffer
			if err := errors.Join(WriteSVG(&svg, f), WritePNG(&raster, f)); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{f.Title, f.X.Title, f.Y.Title} {
				if !strings.Contains(svg.String(), want) {
					t.Errorf("%s: the SVG does not say %q", f.Name, want)
				}
			}
			img, err := png.Decode(&raster)
			if err != nil {
				t.Fatal(err)
			}
			if b := img.Bounds(); b.Dx() != 1536 || b.Dy() != 864 {
				t.Errorf("%s: %v pixels", f.Name, b)
			}
		}
	}
}

// Where a line has no number there is a mark on the axis, and the legend says what it is; an axis reaches to all of them.
func TestGapsAreMarked(t *testing.T) {
	f := release.Figure{Name: "so-far", Title: "So far", Alt: "a", Kind: release.Lines, X: release.Axis{Title: "round"}, Y: release.Axis{Title: "times"}, Series: []release.Series{{Title: "joined", X: []float64{3, 4, 6}, Y: []float64{1, 2, 3}}}}
	drawn := func() (string, int) {
		t.Helper()
		var svg bytes.Buffer
		if err := WriteSVG(&svg, f); err != nil {
			t.Fatal(err)
		}
		return svg.String(), strings.Count(svg.String(), `stroke-width="1.6"`)
	}
	if text, marks := drawn(); marks != 0 || strings.Contains(text, gapTitle) {
		t.Error("marks where every round has a number")
	}
	f.Series[0].Gaps = []float64{1, 2, 5}
	if text, marks := drawn(); marks != 4 || !strings.Contains(text, gapTitle) { // one in the legend
		t.Errorf("%d marks:\n%s", marks, text)
	}
	if x, _, err := axes(f); err != nil || x.from > 1 || len(legend(f)) != 2 {
		t.Errorf("the axis begins at %v, and the legend has %d lines, %v", x.from, len(legend(f)), err)
	}
}

func wellFormed(svg io.Reader) error {
	d := xml.NewDecoder(svg)
	for {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Any valid figure is drawn, or refused with a reason; none panics or loops.
func TestAnyFigure(t *testing.T) {
	number := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.Float64Range(1e6, 1e6+1e-3),
		rapid.SampledFrom([]float64{0, 1, -1, 1e-300, 1e-9, 1e199, -1e199, math.MaxFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		f := release.Figure{Name: "any", Title: "<any>", Alt: "any", Kind: rapid.SampledFrom([]release.FigureKind{release.Lines, release.Points, release.Bars}).Draw(t, "kind"),
			X: release.Axis{Title: "a & b"}, Y: release.Axis{Title: "y"}}
		n := rapid.IntRange(1, 6).Draw(t, "n")
		draw := func(log bool) []float64 {
			xs := rapid.SliceOfN(number, n, n).Draw(t, "xs")
			for i := range xs {
				if log {
					xs[i] = math.Abs(xs[i]) + 1e-9
				}
			}
			return xs
		}
		if f.Kind == release.Bars {
			for range n {
				f.Categories = append(f.Categories, rapid.SampledFrom([]string{"a", "a rather long name", ""}).Draw(t, "category"))
			}
		} else {
			f.X.Log, f.Y.Log = rapid.Bool().Draw(t, "xlog"), rapid.Bool().Draw(t, "ylog")
		}
		for range rapid.IntRange(1, 3).Draw(t, "series") {
			s := release.Series{Title: "<s>", Y: draw(f.Y.Log)}
			if f.Kind != release.Bars {
				s.X = draw(f.X.Log)
			}
			if rapid.Bool().Draw(t, "errors") {
				s.Low, s.High = s.Y, s.Y
			}
			f.Series = append(f.Series, s)
		}
		var b bytes.Buffer
		if err := WriteSVG(&b, f); err != nil {
			if !strings.Contains(err.Error(), "cannot be drawn") {
				t.Fatal(err)
			}
			return
		}
		if err := wellFormed(&b); err != nil {
			t.Fatal(err)
		}
	})
}

// Slanted names stay on the paper, the first of them too.
func TestLongNamesFit(t *testing.T) {
	f := release.Figure{Name: "names", Title: "t", Alt: "a", Kind: release.Bars}
	for range 20 {
		f.Categories = append(f.Categories, "MMMMMMMMMMMMMMMMMMMM")
	}
	f.Series = []release.Series{{Title: "s", Y: make([]float64, 20)}}
	for name, width := range map[string]float64{"wide": 720, "narrow": 358} {
		svg, err := inline(f, width, 250)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`<text x="([-.\d]+)" y="[-.\d]+" transform="rotate\(-45 [^>]*text-anchor="end"[^>]*>([^<]*)<`).FindAllStringSubmatch(string(svg), -1)
		if len(names) != 20 {
			t.Fatalf("%s: %d slanted names of 20", name, len(names))
		}
		for i, n := range names {
			if x, err := strconv.ParseFloat(n[1], 64); err != nil || x < measure(n[2], markSize)*math.Sqrt2/2 {
				t.Errorf("%s: name %d ends at %.1f points, and begins left of the paper", name, i, x)
			}
		}
	}
}

// What release.Validate lets through has a colour and a dash of its own.
func TestSeriesCanBeToldApart(t *testing.T) {
	if len(palette)*len(dashes) != release.MaxSeries || len(glyphs) != len(dashes) {
		t.Errorf("%d colours, %d dashes, %d glyphs for %d series", len(palette), len(dashes), len(glyphs), release.MaxSeries)
	}
}

// Pixels are where the picture has them: a line's dashes, its joints, a circle's edge, and letters in their box.
func TestShapesArePainted(t *testing.T) {
	white := color.NRGBA{0xff, 0xff, 0xff, 0xff}
	covered := func(s shape) (share float64, around image.Rectangle) {
		var b bytes.Buffer
		p := picture{width: 100, height: 100}
		p.add(area{box{0, 0, 100, 100}.path(), white}, s)
		if err := p.writePNG(&b, 2); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		for y := range 200 {
			for x := range 200 {
				if c := color.GrayModel.Convert(img.At(x, y)).(color.Gray); c.Y < 0xff {
					share += float64(0xff-c.Y) / float64(0xff-color.GrayModel.Convert(ink).(color.Gray).Y) / 4
					around = around.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		return share, around
	}
	for name, c := range map[string]struct {
		shape
		area float64 // square points
		in   image.Rectangle
	}{
		"a full area":    {area{box{10, 20, 40, 30}.path(), ink}, 300, image.Rect(20, 40, 80, 60)},
		"a line":         {stroke{[]point{{10, 50}, {90, 50}}, ink, 2, nil}, 160, image.Rect(20, 98, 180, 102)},
		"dashes":         {stroke{[]point{{10, 50}, {90, 50}}, ink, 2, []float64{6, 4}}, 96, image.Rect(20, 98, 172, 102)},
		"a dash's joint": {stroke{[]point{{10, 50}, {13, 50}, {90, 50}}, ink, 2, []float64{6, 4}}, 96, image.Rect(20, 98, 172, 102)},
		"a corner":       {stroke{[]point{{10, 50}, {50, 50}, {50, 90}}, ink, 2, nil}, 161, image.Rect(20, 98, 102, 180)},
		"a disc":         {disc{point{50, 50}, 10, ink, 0}, 312, image.Rect(80, 80, 120, 120)},
		"a ring":         {disc{point{50, 50}, 10, ink, 2}, 125.7, image.Rect(78, 78, 122, 122)},
	} {
		if got, in := covered(c.shape); math.Abs(got-c.area) > 0.03*c.area || in != c.in {
			t.Errorf("%s covers %.1f square points within %v, want %.1f within %v", name, got, in, c.area, c.in)
		}
	}
	for name, c := range map[string]struct {
		words
		in image.Rectangle
	}{
		"words":                 {words{"HH", point{10, 50}, 20, start, 0}, image.Rect(23, 71, 74, 100)},
		"words around a middle": {words{"HH", point{50, 50}, 20, middle, 0}, image.Rect(74, 71, 126, 100)},
		"words up to an end":    {words{"HH", point{90, 50}, 20, end, 0}, image.Rect(125, 71, 177, 100)},
		"words upwards":         {words{"HH", point{50, 90}, 20, start, 90}, image.Rect(71, 125, 100, 177)},
	} {
		if got, in := covered(c.words); got < 60 || in.Sub(c.in.Min).Dx() > 55 || !in.In(c.in.Inset(-3)) {
			t.Errorf("%s cover %.1f square points within %v, want them within %v", name, got, in, c.in)
		}
	}
}
