package principal

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// Four points on two axes: the covariance is diag(4.5, 0.5) about (1, 2), by hand.
func TestKnownState(t *testing.T) {
	x := blas32.General{Rows: 4, Cols: 2, Stride: 2, Data: []float32{4, 2, -2, 2, 1, 3, 1, 1}}
	for power, ratio := range map[float64]float64{Full: 3, Half: math.Sqrt(3), 0: 1} {
		s, err := Fit(x, 2, 0, power)
		if err != nil || s.Check() != nil {
			t.Fatal(err)
		}
		out := make([]float32, 2)
		s.Apply([]float32{2, 3}, out) // one from the mean on both axes
		if got := float64(out[1] / out[0]); math.Abs(got-ratio) > 1e-5 || math.Abs(float64(out[0]*out[0]+out[1]*out[1])-1) > 1e-6 {
			t.Errorf("power %v: %v, want the second %v times the first", power, out, ratio)
		}
		s.Apply([]float32{1, 2}, out)
		if out[0] != 0 || out[1] != 0 {
			t.Errorf("the mean becomes %v", out)
		}
	}
	// With regularization: (0.5/2.5 + 1)^-1/2 against (4.5/2.5 + 1)^-1/2.
	s, err := Fit(x, 2, 1, Full)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 2)
	if s.Apply([]float32{2, 3}, out); math.Abs(float64(out[1]/out[0])-math.Sqrt(2.8/1.2)) > 1e-5 {
		t.Errorf("regularized: %v", out)
	}
}

// Whitened public rows have a covariance that is the same in every direction.
func TestWhiteIsWhite(t *testing.T) {
	r := stattest.Rand(t)
	const n, d = 4000, 12
	x := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range n {
		common := r.NormFloat64()
		for j := range d {
			x.Data[i*d+j] = float32(float64(j+1)*r.NormFloat64() + 3*common + 5)
		}
	}
	s, err := Fit(x, d, 0, Full)
	if err != nil {
		t.Fatal(err)
	}
	y := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range n {
		s.Apply(append([]float32(nil), x.Data[i*d:(i+1)*d]...), y.Data[i*d:(i+1)*d])
	}
	_, covariance, err := moments(y)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d {
		for j := range d {
			want := 0.0
			if i == j {
				want = 1. / d
			}
			if got := covariance.At(i, j); math.Abs(got-want) > 0.012 {
				t.Errorf("covariance %d, %d is %v, want %v", i, j, got, want)
			}
		}
	}
}

// Few directions of many features, against all of them.
func TestLeading(t *testing.T) {
	r := stattest.Rand(t)
	const n, d, kept = 300, 120, 5
	x := blas32.General{Rows: n, Cols: d, Stride: d, Data: make([]float32, n*d)}
	for i := range x.Data {
		x.Data[i] = float32(r.NormFloat64() * math.Pow(0.8, float64(i%d)))
	}
	_, covariance, err := moments(x)
	if err != nil {
		t.Fatal(err)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		t.Fatal("no eigenvectors")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	_, centred, _ := centre(x)
	values, some, err := leading(centred, kept)
	if err != nil {
		t.Fatal(err)
	}
	for i := range kept {
		want, got := eigen.Values(nil)[d-1-i], values[len(values)-1-i]
		if math.Abs(got/want-1) > 1e-4 || math.Abs(math.Abs(mat.Dot(vectors.ColView(d-1-i), some.ColView(len(values)-1-i)))-1) > 1e-3 {
			t.Errorf("direction %d has the eigenvalue %v, want %v", i+1, got, want)
		}
	}
}

func TestHostile(t *testing.T) {
	x := blas32.General{Rows: 4, Cols: 2, Stride: 2, Data: []float32{4, 2, -2, 2, 1, 3, 1, 1}}
	for name, fit := range map[string]func() (*whiten.State, error){
		"no direction": func() (*whiten.State, error) { return Fit(x, 0, 0, Full) },
		"too many":     func() (*whiten.State, error) { return Fit(x, 3, 0, Full) },
		"too few rows": func() (*whiten.State, error) {
			return Fit(blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: x.Data}, 2, 0, Full)
		},
		"regularization": func() (*whiten.State, error) { return Fit(x, 1, math.NaN(), Full) },
		"power":          func() (*whiten.State, error) { return Fit(x, 1, 0, -1) },
		"one point": func() (*whiten.State, error) {
			return Fit(blas32.General{Rows: 4, Cols: 1, Stride: 1, Data: make([]float32, 4)}, 1, 0, Full)
		},
		"a line": func() (*whiten.State, error) {
			return Fit(blas32.General{Rows: 4, Cols: 2, Stride: 2, Data: []float32{1, 0, 2, 0, 3, 0, 4, 0}}, 2, 0, Full)
		},
		"infinite": func() (*whiten.State, error) {
			return Fit(blas32.General{Rows: 4, Cols: 1, Stride: 1, Data: []float32{1, 2, 3, float32(math.Inf(1))}}, 1, 0, Full)
		},
	} {
		if s, err := fit(); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
