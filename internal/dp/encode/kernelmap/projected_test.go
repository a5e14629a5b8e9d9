package kernelmap

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
)

// The error that projections add is within beta, at any distance: measured over public rotations as they are drawn, with
// the kernel of the projected difference in the place of features. A third of beta is found out, where the error is largest.
func TestProjectionsKeepDistances(t *testing.T) {
	const draws = 400
	for _, c := range []struct{ d, m int }{{16, 4}, {64, 16}, {21, 20}} {
		beta := projectedBeta(c.d, c.m)
		for _, square := range []float64{0.3, 1, 3} { // (|x-y|/h)^2
			errors := make([]float64, draws)
			r := seeded.New(5)
			for i := range errors {
				spec := Spec{Kernel: GaussianProjected, Dimension: c.d, Repetitions: 1, Bandwidth: 1, Projection: c.m}
				spec.Seed[0], spec.Seed[1] = byte(i), byte(i>>8)
				f := mustNew(t, spec).family.(*projected)
				x := blas32.General{Rows: 1, Cols: c.d, Stride: c.d, Data: make([]float32, c.d)}
				length := 0.0
				for j := range x.Data {
					v := r.NormFloat64()
					x.Data[j] = float32(v)
					length += v * v
				}
				low, scale := f.project(x, []float32{float32(math.Sqrt(square / length))})
				kept := 0.0
				for _, v := range low.Data {
					kept += float64(v*scale[0]) * float64(v*scale[0])
				}
				errors[i] = math.Abs(math.Exp(-kept) - math.Exp(-square))
			}
			beyond := func(reach float64) (count int) {
				for _, e := range errors {
					if e > reach {
						count++
					}
				}
				return count
			}
			stattest.AtMost(t, 0.25, draws, beyond(2*beta)) // Chebyshev
			if square == 1 {
				stattest.Caught(t, func(tb testing.TB) { stattest.AtMost(tb, 0.25, draws, beyond(2*beta/6)) })
			}
		}
	}
}

func TestBetaOfProjections(t *testing.T) {
	for _, d := range []int{2, 10, 256, 6144} {
		last := 1.0
		for m := 1; m < d; m *= 2 {
			beta := projectedBeta(d, m)
			if !(beta < last && beta <= 0.6/math.Sqrt(float64(m))) {
				t.Errorf("from %d to %d dimensions beta is %v, after %v", d, m, beta, last)
			}
			last = beta
		}
		if beta := projectedBeta(d, d); beta != 0 {
			t.Errorf("nothing is left out of %d dimensions, and beta is %v", d, beta)
		}
	}
	if beta := projectedBeta(6144, 256); math.Abs(beta/(math.Sqrt2/math.E/16)-1) > 0.05 {
		t.Errorf("beta is %v, in the limit %v", beta, math.Sqrt2/math.E/16)
	}
}

// With all dimensions kept, features are those of the rotated value.
func TestProjectionToAllDimensionsIsARotation(t *testing.T) {
	spec := Spec{Kernel: GaussianProjected, Dimension: 8, Repetitions: 3, Bandwidth: 1, Projection: 8}
	x := []float32{0.1, 0.2, -0.4, 0.8, 0, 0.3, -0.1, 0.2}
	f := mustNew(t, spec).family.(*projected)
	low, scale := f.project(block(x), []float32{1})
	if got, want := blas32.Nrm2(vector(low.Data)), blas32.Nrm2(vector(x)); scale[0] != 1 || math.Abs(float64(got-want)) > 1e-6 {
		t.Errorf("length %v of %v, times %v", got, want, scale[0])
	}
}
