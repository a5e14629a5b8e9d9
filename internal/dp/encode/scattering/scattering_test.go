package scattering

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// scattering.json is from kymatio, by scattering.py.
func TestGoldenScattering(t *testing.T) {
	c := crosscheck.Read[struct {
		Width, Height   int
		Image, Features []float32
	}](t, "testdata/scattering.json")
	m, err := New(c.Width, c.Height)
	if err != nil || m.Len() != len(c.Features) || m.Check(c.Image) != nil {
		t.Fatalf("%d features of %d, %v", m.Len(), len(c.Features), err)
	}
	for _, contrast := range []float32{1, 0.01} {
		image, out := make([]float32, len(c.Image)), make([]float32, m.Len())
		for i, p := range c.Image {
			image[i] = contrast * p
		}
		m.Apply(image, out)
		for i, x := range out {
			if math.Abs(float64(x-c.Features[i])) > 2e-5 {
				t.Fatalf("at contrast %v feature %d is %v, want %v", contrast, i, x, c.Features[i])
			}
		}
	}
}

// A plain image oscillates nowhere; stripes do across themselves, at their own scale.
func TestPlainAndStripes(t *testing.T) {
	m, err := New(28, 28)
	if err != nil {
		t.Fatal(err)
	}
	image, out := make([]float32, 28*28), make([]float32, m.Len())
	if m.Apply(image, out); out[0] != 0 {
		t.Errorf("an image of zeros has the feature %v", out[0])
	}
	for i := range image {
		image[i] = 1
	}
	const cells = 49
	m.Apply(image, out)
	for i, x := range out {
		if want := 1 / math.Sqrt(cells); i < cells && math.Abs(float64(x)-want) > 1e-3 || i >= cells && x > 1e-3 {
			t.Fatalf("feature %d of a plain image is %v", i, x)
		}
	}
	for i := range image { // change from row to row
		image[i] = float32(1 + math.Cos(3*math.Pi/4*float64(i/28)))
	}
	m.Apply(image, out)
	strongest, most := 0, float32(0)
	for path := 1; path <= scales*directions; path++ {
		if x := out[path*cells+cells/2]; x > most {
			strongest, most = path, x
		}
	}
	if strongest != 1+directions/2-1 { // the direction of angle zero, first scale
		t.Errorf("stripes are strongest in path %d", strongest)
	}
}

func TestSizes(t *testing.T) {
	for _, size := range [][2]int{{28, 27}, {4, 28}, {68, 28}, {0, 0}} {
		if _, err := New(size[0], size[1]); err == nil {
			t.Errorf("images of %v", size)
		}
	}
	m, _ := New(8, 8)
	if m.Check(make([]float32, 63)) == nil || m.Check(append(make([]float32, 63), float32(math.NaN()))) == nil {
		t.Error("a bad image")
	}
}

func BenchmarkApply(b *testing.B) {
	m, _ := New(28, 28)
	image, out := make([]float32, 28*28), make([]float32, m.Len())
	for i := range image {
		image[i] = float32(i % 5)
	}
	for b.Loop() {
		m.Apply(image, out)
	}
}
