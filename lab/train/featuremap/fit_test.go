package featuremap

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/dp/encode/lsa"
	"github.com/confetti-dp/confetti/internal/seeded"
)

func quiet(string, int, int) {}

// Public rows come out centred and white, four of five within length one and none beyond; a
// column that is the same for all is no trouble.
func TestColumns(t *testing.T) {
	r := seeded.New(1)
	x := blas32.General{Rows: 500, Cols: 3, Stride: 3, Data: make([]float32, 1500)}
	for i := range x.Rows {
		a := r.NormFloat64()
		copy(x.Data[3*i:], []float32{float32(10 + 5*a), float32(a + 0.5*r.NormFloat64()), 7})
	}
	rows := append([]float32(nil), x.Data...)
	f, err := Columns([]string{"a", "b", "c"}, x, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	within, cross, squares := 0, 0.0, [2]float64{}
	for i := range x.Rows {
		v, err := f.OfNumbers(rows[3*i : 3*i+3])
		if err != nil {
			t.Fatal(err)
		}
		length := math.Hypot(float64(v[0]), float64(v[1]))
		if length > 1 {
			t.Fatalf("row %d has length %v", i, length)
		}
		if length < 1-1e-4 {
			within++
			cross += float64(v[0]) * float64(v[1])
			squares[0] += float64(v[0]) * float64(v[0])
			squares[1] += float64(v[1]) * float64(v[1])
		}
	}
	if within < 390 || within > 410 || math.Abs(cross) > 0.15*squares[0] || squares[0]/squares[1] < 0.7 || squares[0]/squares[1] > 1.4 {
		t.Errorf("%d rows within, squares %v, product %v", within, squares, cross)
	}
	if f.Fit([]string{"a", "b"}) == nil || f.Fit([]string{"b", "a", "c"}) == nil || f.Fit([]string{"a", "b", "c"}) != nil {
		t.Error("other columns")
	}
	if at, err := f.Places([]string{"c", "x", "b", "a"}); err != nil || at[0] != 3 || at[1] != 2 || at[2] != 0 {
		t.Errorf("%v, %v", at, err)
	}
}

// Small images have vectors of length one, in as many directions as were asked for.
func TestImages(t *testing.T) {
	r := seeded.New(2)
	images := blas32.General{Rows: 60, Cols: 64, Stride: 64, Data: make([]float32, 60*64)}
	for i := range images.Data {
		images.Data[i] = r.Float32()
	}
	f, err := Images(images, &inputs.Map{Image: &inputs.Size{Width: 8, Height: 8}}, 5, 0.3, quiet)
	if err != nil {
		t.Fatal(err)
	}
	unit := func(v []float32, err error) {
		if norm := float64(blas32.Nrm2(blas32.Vector{N: len(v), Inc: 1, Data: v})); err != nil || math.Abs(norm-1) > 1e-5 {
			t.Errorf("length %v, %v", norm, err)
		}
	}
	v, err := f.OfNumbers(images.Data[:64])
	if unit(v, err); len(v) != 5 {
		t.Errorf("%d directions", len(v))
	}
	words, texts := []string{"red", "green", "blue", "cat", "dog", "bird", "sun", "rain", "wind", "snow"}, []string{}
	for range 80 {
		text := ""
		for range 4 {
			text += words[r.IntN(len(words))] + " " + words[r.IntN(len(words))] + "s "
		}
		texts = append(texts, text)
	}
	if _, err = Texts(r, texts, 0, lsa.Words{Common: 1}, 0.3, quiet); err == nil {
		t.Error("no directions")
	}
	if _, err := Images(images, &inputs.Map{Image: &inputs.Size{Width: 16, Height: 8}}, 5, 0.3, quiet); err == nil {
		t.Error("images of another size")
	}
}

func TestCounted(t *testing.T) {
	if got := Counted([]string{"the cat", "the the dog cat"}); len(got) != 3 || got["the"] != 0.5 || math.Abs(got["dog"]-1./6) > 1e-12 {
		t.Errorf("%v", got)
	}
}
