package cosines

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/testkit/crosscheck"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// cosines.json is from cosines.py, which shares no code with the package.
func TestGoldenCosines(t *testing.T) {
	c := crosscheck.Read[struct{ Row, Directions, Phases, Features []float32 }](t, "testdata/cosines.json")
	m := Map{c.Directions, c.Phases}
	if err := m.Check(len(c.Row)); err != nil || m.Len() != len(c.Features) {
		t.Fatalf("%d features, %v", m.Len(), err)
	}
	y := m.Beside(blas32.General{Rows: 1, Cols: len(c.Row), Stride: len(c.Row), Data: c.Row})
	for i, want := range c.Features {
		if math.Abs(float64(y.Data[i]-want)) > 1e-6 {
			t.Errorf("feature %d is %v, want %v", i, y.Data[i], want)
		}
	}
	if m.Check(2) == nil || (&Map{Directions: []float32{float32(math.NaN())}, Phases: []float32{0}}).Check(1) == nil {
		t.Error("a bad map")
	}
}

// The products of many cosines are the Gaussian kernel.
func TestKernel(t *testing.T) {
	const columns, n = 4, 20_000
	m := New(stattest.Rand(t), columns, n)
	x := blas32.General{Rows: 2, Cols: columns, Stride: columns, Data: []float32{1, 0, -1, 0.5, 0, 0.5, -1, 1.5}}
	y := m.Beside(x)
	product, squares := 0.0, 0.0
	for k := range n {
		product += float64(y.Data[columns+k]) * float64(y.Data[y.Stride+columns+k]) / n
	}
	for j := range columns {
		d := float64(x.Data[j] - x.Data[columns+j])
		squares += d * d
	}
	if want := math.Exp(-squares / (2 * columns)); math.Abs(product-want) > 0.05 { // seven standard errors
		t.Errorf("products of cosines are %v, the kernel is %v", product, want)
	}
}
