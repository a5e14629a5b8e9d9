package page

import (
	"bytes"
	"encoding/xml"
	"errors"
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
			for _, want := range []string{f.Title, f.X.Label, f.Y.Label} {
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
			X: release.Axis{Label: "a & b"}, Y: release.Axis{Label: "y"}}
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
			s := release.Series{Label: "<s>", Y: draw(f.Y.Log)}
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
	f.Series = []release.Series{{Label: "s", Y: make([]float64, 20)}}
	for name, width := range map[string]float64{"wide": 720, "narrow": 358} {
		svg, err := inline(f, width, 250)
		if err != nil {
			t.Fatal(err)
		}
		starts := regexp.MustCompile(`<g transform="rotate\(45\)">\s*<text x="([-.\d]+)" y="([-.\d]+)"`).FindAllStringSubmatch(string(svg), -1)
		if len(starts) != 20 {
			t.Fatalf("%s: %d slanted names of 20", name, len(starts))
		}
		for i, at := range starts { // turned by an eighth, upwards
			x, errX := strconv.ParseFloat(at[1], 64)
			y, errY := strconv.ParseFloat(at[2], 64)
			if left := (x + y) * math.Sqrt2 / 2; errX != nil || errY != nil || left < 0 {
				t.Errorf("%s: name %d begins %.1f points left of the paper", name, i, -left)
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
