package gradients

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
)

// gradients.json is from gradients.py, which shares no code with the package.
func TestGoldenGradients(t *testing.T) {
	c := crosscheck.Read[struct {
		Width, Height   int
		Image, Features []float32
	}](t, "testdata/gradients.json")
	m, err := New(c.Width, c.Height)
	if err != nil || m.Len() != len(c.Features) || m.Check(c.Image) != nil {
		t.Fatalf("%d features of %d, %v", m.Len(), len(c.Features), err)
	}
	for scale, image := range map[float32][]float32{1: c.Image, 0.01: scaled(c.Image, 0.01)} {
		out := make([]float32, m.Len())
		m.Apply(image, out)
		for i, x := range out {
			if math.Abs(float64(x-c.Features[i])) > 2e-5 {
				t.Fatalf("at contrast %v feature %d is %v, want %v", scale, i, x, c.Features[i])
			}
		}
	}
}

func scaled(x []float32, by float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = by * v
	}
	return out
}

// A ramp to the right rises in one direction only; a flat image in none.
func TestRampAndPlain(t *testing.T) {
	m, err := New(28, 28)
	if err != nil {
		t.Fatal(err)
	}
	ramp, out := make([]float32, 28*28), make([]float32, m.Len())
	for i := range ramp {
		ramp[i] = float32(i % 28)
	}
	m.Apply(ramp, out)
	for i, x := range out {
		if (i%orientations == 0) != (x > 0) {
			t.Fatalf("feature %d is %v", i, x)
		}
	}
	m.Apply(make([]float32, 28*28), out)
	for i, x := range out {
		if x != 0 {
			t.Fatalf("feature %d of a flat image is %v", i, x)
		}
	}
}

func TestHostile(t *testing.T) {
	for _, size := range [][2]int{{0, 4}, {4, 0}, {27, 28}, {28, 30}, {-4, 4}, {4096, 4}} {
		if _, err := New(size[0], size[1]); err == nil {
			t.Errorf("%v is a size", size)
		}
	}
	m, err := New(4, 4)
	if err != nil {
		t.Fatal(err)
	}
	bad := make([]float32, 16)
	if m.Check(bad) != nil || m.Check(bad[1:]) == nil {
		t.Error("sizes")
	}
	if bad[3] = float32(math.NaN()); m.Check(bad) == nil {
		t.Error("not a number")
	}
}

func BenchmarkApply(b *testing.B) {
	m, _ := New(28, 28)
	image, out := make([]float32, 28*28), make([]float32, m.Len())
	for i := range image {
		image[i] = float32(math.Sin(float64(i * i)))
	}
	for b.Loop() {
		m.Apply(image, out)
	}
}
