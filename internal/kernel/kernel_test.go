package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func near(t *testing.T, got, want []float32, tolerance float64) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > tolerance {
			t.Fatalf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestProductsAreThoseOfPlainLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {8, 8, 8}, {17, 64, 33}, {1, 300, 9}, {9, 300, 1}, {2, 1, 3}} {
		m, k, n := s[0], s[1], s[2]
		a, b := random(r, m*k), random(r, k*n)
		got, want := random(r, m*n), make([]float32, m*n)
		Gemm(got, a, b, m, k, n)
		for i := range want {
			for j := range k {
				want[i] += a[i/n*k+j] * b[j*n+i%n]
			}
		}
		near(t, got, want, 1e-5*float64(k))
	}
}

func TestAProductOverNothingIsZero(t *testing.T) {
	dst := []float32{1, 2}
	Gemm(dst, nil, nil, 1, 0, 2)
	near(t, dst, []float32{0, 0}, 0)
}

func TestTwoTurnsGiveTheMatrixBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][2]int{{1, 1}, {5, 3}, {16, 16}, {33, 70}} {
		a := random(r, s[0]*s[1])
		once, twice := make([]float32, len(a)), make([]float32, len(a))
		Transpose(once, a, s[0], s[1])
		Transpose(twice, once, s[1], s[0])
		near(t, twice, a, 0)
		if s[0] > 1 && once[1] != a[s[1]] {
			t.Errorf("%dx%d: the second number of the turned matrix is %v, want %v", s[0], s[1], once[1], a[s[1]])
		}
	}
}

func TestVectorsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		x, y := random(r, n), random(r, n)
		want, dot := make([]float32, n), 0.0
		for i := range x {
			want[i] = y[i] + 0.25*x[i]
			dot += float64(x[i]) * float64(y[i])
		}
		if got := Dot(x, y); math.Abs(float64(got)-dot) > 1e-4 {
			t.Errorf("%d numbers: inner product %v, want %v", n, got, dot)
		}
		Axpy(y, x, 0.25)
		near(t, y, want, 1e-6)
		Scale(y, 2)
		for i := range want {
			want[i] *= 2
		}
		near(t, y, want, 1e-6)
	}
}

func TestLengthsThatDoNotFitArePointedOut(t *testing.T) {
	for name, f := range map[string]func(){
		"product":   func() { Gemm(make([]float32, 3), make([]float32, 4), make([]float32, 4), 2, 2, 2) },
		"transpose": func() { Transpose(make([]float32, 3), make([]float32, 4), 2, 2) },
		"axpy":      func() { Axpy(make([]float32, 3), make([]float32, 4), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("taken")
				}
			}()
			f()
		})
	}
}
