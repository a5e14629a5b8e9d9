package vek

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/kernel"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestProductsAreThoseOfAnotherLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {8, 8, 8}, {17, 64, 33}, {256, 784, 50}, {1, 300, 9}, {9, 300, 1}, {2, 1, 3}} {
		m, k, n := s[0], s[1], s[2]
		a, b := random(r, m*k), random(r, k*n)
		got, want := random(r, m*n), make([]float32, m*n)
		kernel.Gemm(got, a, b, m, k, n)
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1,
			blas32.General{Rows: m, Cols: k, Stride: k, Data: a}, blas32.General{Rows: k, Cols: n, Stride: n, Data: b},
			0, blas32.General{Rows: m, Cols: n, Stride: n, Data: want})
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-5*float64(k) {
				t.Fatalf("%v: number %d is %v, want %v", s, i, got[i], want[i])
			}
		}
		if dot, want := kernel.Dot(a, a), blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(a), Inc: 1, Data: a}); math.Abs(float64(dot-want)) > 1e-5*float64(want) {
			t.Errorf("%v: inner product %v, want %v", s, dot, want)
		}
	}
}

// The product that a layer of 400 on 784 inputs needs, beside gonum's.
func BenchmarkGemm(b *testing.B) {
	const m, k, n = 256, 784, 400
	r := rand.New(rand.NewPCG(7, 8))
	x, y, dst := random(r, m*k), random(r, k*n), make([]float32, m*n)
	for name, f := range map[string]func(){
		"vek": func() { kernel.Gemm(dst, x, y, m, k, n) },
		"gonum": func() {
			blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, blas32.General{Rows: m, Cols: k, Stride: k, Data: x},
				blas32.General{Rows: k, Cols: n, Stride: n, Data: y}, 0, blas32.General{Rows: m, Cols: n, Stride: n, Data: dst})
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(2*m*k*n*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}
