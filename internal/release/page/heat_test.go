package page

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/release"
)

func places(columns int, values ...float64) release.Figure {
	return release.Figure{Name: "places", Title: "Where", Alt: "Counts over a plane.", Kind: release.Heat,
		X: release.Axis{Title: "longitude"}, Y: release.Axis{Title: "latitude"},
		Grid: &release.Grid{Columns: columns, Left: 0, Right: 2, Bottom: 10, Top: 12, Values: values}}
}

// Every cell has its shade, and the first row lies at the bottom: the colours along
// the picture's lower half are those of the first two values, and so on.
func TestHeat(t *testing.T) {
	var b, svg bytes.Buffer
	f := places(2, -5, 2, 4, 8)
	if err := WritePNG(&b, f); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	at := map[color.NRGBA][2]int{} // the lowest and leftmost place of each colour in the picture
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() * 3 / 4 { // beside it stands the legend
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			if p, seen := at[c]; !seen || x <= p[0] {
				at[c] = [2]int{x, y}
			}
		}
	}
	var cells [4][2]int
	for i, share := range []float64{0, 0.25, 0.5, 1} {
		cell, ok := at[shade(share)]
		if !ok {
			t.Fatalf("no cell has the shade of %v", share)
		}
		cells[i] = cell
	}
	if !(cells[0][0] < cells[1][0] && cells[2][0] < cells[3][0] && cells[0][1] > cells[2][1] && cells[1][1] > cells[3][1]) {
		t.Errorf("cells lie at %v", cells)
	}
	if err := WriteSVG(&svg, f); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Where", "longitude", "latitude", "<image", "0 and less", ">8<"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the SVG lacks %q", want)
		}
	}
	if err := wellFormed(&svg); err != nil {
		t.Error(err)
	}
}

// Shades get darker all the way.
func TestShade(t *testing.T) {
	light := func(c color.NRGBA) int { return 299*int(c.R) + 587*int(c.G) + 114*int(c.B) }
	for i := range 100 {
		if a, b := shade(float64(i)/100), shade(float64(i+1)/100); light(a) <= light(b) {
			t.Errorf("%v at %d %% is no lighter than %v after it", a, i, b)
		}
	}
	if shade(-1) != ramp[0] || shade(2) != ramp[len(ramp)-1] {
		t.Error("shares outside [0, 1] do not get the shades of its ends")
	}
}

// Any valid grid is drawn, or refused with a reason.
func TestAnyGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{0, 1e-300, math.MaxFloat64, -math.MaxFloat64}))
		columns, rows := rapid.IntRange(1, 5).Draw(t, "columns"), rapid.IntRange(1, 5).Draw(t, "rows")
		f := places(columns, rapid.SliceOfN(number, columns*rows, columns*rows).Draw(t, "values")...)
		f.Grid.Left, f.Grid.Right = number.Draw(t, "left"), number.Draw(t, "right")
		if f.Validate() != nil {
			return
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

// The file of a large grid stays small enough to look at.
func TestLargeGrid(t *testing.T) {
	values := make([]float64, release.MaxGrid)
	for i := range values {
		values[i] = float64(i % 7)
	}
	var b bytes.Buffer
	if err := WriteSVG(&b, places(1<<15, values...)); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1<<22 {
		t.Errorf("%d bytes", b.Len())
	}
}
