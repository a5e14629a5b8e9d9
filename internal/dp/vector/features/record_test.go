package features

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
)

func squared(v, w []float32) (sum float64) {
	for i, x := range v {
		y := 0.0
		if w != nil {
			y = float64(w[i])
		}
		sum += (float64(x) - y) * (float64(x) - y)
	}
	return sum
}

// No two messages are farther apart than is claimed, over classes and angles between the
// features; the claim is attained. Messages have norm one.
func TestMessagesAreNear(t *testing.T) {
	s := Shape{Dimension: 4, Classes: 3}
	worst := 0.0
	v, w := make([]float32, s.Len()), make([]float32, s.Len())
	for i := range 1000 {
		sin, cos := math.Sincos(math.Pi * float64(i) / 999)
		for class := range s.Classes {
			s.Message([]float32{1, 0, 0, 0}, 0, v)
			s.Message([]float32{float32(cos), float32(sin), 0, 0}, class, w)
			worst = math.Max(worst, squared(v, w))
			if norm := squared(w, nil); math.Abs(norm-1) > 1e-6 {
				t.Fatalf("a message has squared norm %v", norm)
			}
		}
	}
	if claim := SquaredDistance(); worst > claim+1e-6 || worst < claim-1e-4 || math.Abs(claim-2.0063) > 1e-4 {
		t.Errorf("messages are %v apart, claimed %v", worst, claim)
	}
	s.Message(make([]float32, 4), 0, w) // features without direction
	if far := squared(v, w); far > SquaredDistance() {
		t.Errorf("the message of no features is %v from another", far)
	}
}

// Corners of classes are of length one and equally far apart.
func TestCorners(t *testing.T) {
	for classes := 2; classes <= 5; classes++ {
		s := Shape{Dimension: 3, Classes: classes}
		for a := range classes {
			for b := range classes {
				dot, want := 0.0, -1/float64(classes-1)
				for k, x := range s.Code(a) {
					dot += x * s.Code(b)[k]
				}
				if a == b {
					want = 1
				}
				if math.Abs(dot-want) > 1e-12 {
					t.Errorf("corners %d and %d of %d: %v, want %v", a, b, classes, dot, want)
				}
			}
		}
	}
}

func TestHostile(t *testing.T) {
	for _, s := range []Shape{{}, {0, 2}, {4, 1}, {1 << 20, 2}, {4, 1 << 20}} {
		if s.Validate() == nil {
			t.Errorf("%+v is a shape", s)
		}
	}
	s := Shape{Dimension: 2, Classes: 2}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := s.Decode(make([]float64, 3), 1); err == nil {
		t.Error("a short sum")
	}
	if (&Point{Shape: s}).Check() == nil {
		t.Error("a point without numbers")
	}
}

// record.json is from record.py, which shares no code with the package.
func TestGoldenRecords(t *testing.T) {
	text, err := os.ReadFile("testdata/record.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Psi, Mean, Whiten       []float32
		Weights                 []float64
		Classes, Y              int
		Moments, Sums, Gradient []float64
	}
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) != 3 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		s := Shape{Dimension: len(c.Psi), Classes: c.Classes}
		same := func(what string, got []float32, want []float64) {
			for i, x := range got {
				if len(got) != len(want) || math.Abs(float64(x)-want[i]) > 2e-6 {
					t.Fatalf("%s of class %d: %v, want %v", what, c.Y, got, want)
				}
			}
		}
		moments, sums, gradient := make([]float32, s.Len()), make([]float32, s.ClassLen()), make([]float32, s.GradientLen())
		s.Message(c.Psi, c.Y, moments)
		same("moments", moments, c.Moments)
		s.ClassMessage(c.Psi, c.Y, sums)
		same("sums", sums, c.Sums)
		d := s.Dimension
		p := Point{Shape: s, Mean: c.Mean, Weights: c.Weights, Whiten: blas32.General{Rows: d, Cols: d, Stride: d, Data: c.Whiten}}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		phi := make([]float32, d)
		p.Features(slices.Clone(c.Psi), phi)
		p.Message(phi, c.Y, gradient)
		same("gradient", gradient, c.Gradient)
	}
}
