package release

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFiguresAreDrawn(t *testing.T) {
	for _, s := range sample().Sections {
		for _, f := range s.Figures {
			var svg, raster bytes.Buffer
			if err := errors.Join(f.WriteSVG(&svg), f.WritePNG(&raster)); err != nil {
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
		f := Figure{Name: "any", Title: "<any>", Alt: "any", Kind: rapid.SampledFrom([]FigureKind{Lines, Points, Bars}).Draw(t, "kind"),
			X: Axis{Label: "a & b"}, Y: Axis{Label: "y"}}
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
		if f.Kind == Bars {
			for range n {
				f.Categories = append(f.Categories, rapid.SampledFrom([]string{"a", "a rather long name", ""}).Draw(t, "category"))
			}
		} else {
			f.X.Log, f.Y.Log = rapid.Bool().Draw(t, "xlog"), rapid.Bool().Draw(t, "ylog")
		}
		for range rapid.IntRange(1, 3).Draw(t, "series") {
			s := Series{Label: "<s>", Y: draw(f.Y.Log)}
			if f.Kind != Bars {
				s.X = draw(f.X.Log)
			}
			if rapid.Bool().Draw(t, "errors") {
				s.Low, s.High = s.Y, s.Y
			}
			f.Series = append(f.Series, s)
		}
		var b bytes.Buffer
		if err := f.WriteSVG(&b); err != nil {
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
