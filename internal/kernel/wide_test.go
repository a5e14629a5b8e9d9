package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// oracle is a product by gonum; a is k x m where it is turned over.
func oracle(a, b []float32, turned bool, m, k, n int) []float32 {
	dst := make([]float32, m*n)
	if turned {
		whole(dst, blas.Trans, blas32.General{Rows: k, Cols: m, Stride: m, Data: a}, b, k, n)
	} else {
		whole(dst, blas.NoTrans, blas32.General{Rows: m, Cols: k, Stride: k, Data: a}, b, k, n)
	}
	return dst
}

// Each width that this processor has, and none, gives the products of gonum, whatever edges are
// left over, and writes nothing beside them.
func TestEveryWidthMultipliesAlike(t *testing.T) {
	all := wide
	defer func() { wide = all }()
	r := rand.New(rand.NewPCG(7, 8))
	for at := range len(all) + 1 {
		if wide = all[at:min(at+1, len(all))]; at == len(all) {
			wide = nil
		}
		for _, s := range [][3]int{{12, 1, 32}, {13, 7, 33}, {4, 9, 16}, {5, 3, 10}, {24, 64, 15}, {31, 20, 65}, {40, 50, 1}, {3, 4, 5}} {
			m, k, n := s[0], s[1], s[2]
			for _, turned := range []bool{false, true} {
				a, b, got := random(r, m*k), random(r, k*n), random(r, m*n+1)
				beside := got[m*n]
				if turned {
					TurnedGemm(got[:m*n], a, b, m, k, n)
				} else {
					Gemm(got[:m*n], a, b, m, k, n)
				}
				near(t, got[:m*n], oracle(a, b, turned, m, k, n), 1e-4)
				if got[m*n] != beside {
					t.Errorf("%v: a number beside the product was written", s)
				}
			}
		}
	}
}

// BenchmarkGemm is a product of the size of a layer, by ours and by gonum.
func BenchmarkGemm(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, s := range [][3]int{{256, 784, 400}, {768, 768, 768}, {196, 64, 16}} {
		m, k, n := s[0], s[1], s[2]
		x, y, dst := random(r, m*k), random(r, k*n), make([]float32, m*n)
		all := wide
		for at := range len(all) + 1 {
			name := "gonum"
			if at < len(all) {
				name = fmt.Sprintf("tiles of %dx%d", all[at].rows, all[at].columns)
			}
			b.Run(fmt.Sprintf("%dx%dx%d/%s", m, k, n, name), func(b *testing.B) {
				wide = all[at:]
				defer func() { wide = all }()
				for b.Loop() {
					Gemm(dst, x, y, m, k, n)
				}
				b.ReportMetric(2*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// What goes through registers of eight, and the rest, is what is said of each number.
func TestNumbersBySideAreThoseOfTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for n := range 20 {
		x, y, dy, dx := random(r, n), random(r, n), random(r, n), random(r, n)
		for i := 0; i < n; i += 3 {
			y[i] = x[i]
		}
		most, gated := append([]float32(nil), y...), random(r, n)
		Most(most, x)
		Gate(gated, dy, x)
		moved, left := append([]float32(nil), dx...), append([]float32(nil), dy...)
		Pass(moved, left, x, y)
		for i := range n {
			same := i%3 == 0
			if most[i] != max(x[i], y[i]) || (gated[i] != 0) != (x[i] > 0) || x[i] > 0 && gated[i] != dy[i] {
				t.Errorf("number %d of %d: %v of %v and %v, %v of %v", i, n, most[i], x[i], y[i], gated[i], dy[i])
			}
			if same && (moved[i] != dx[i]+dy[i] || left[i] != 0) || !same && (moved[i] != dx[i] || left[i] != dy[i]) {
				t.Errorf("number %d of %d: moved %v, left %v", i, n, moved[i], left[i])
			}
		}
	}
}
