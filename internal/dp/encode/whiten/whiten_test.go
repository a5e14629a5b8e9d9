package whiten

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
)

func TestHostile(t *testing.T) {
	if (&State{}).Check() == nil || (&State{Mean: []float32{1}, Matrix: blas32.General{Rows: 1, Cols: 1, Stride: 1, Data: []float32{float32(math.NaN())}}}).Check() == nil {
		t.Error("a state without numbers")
	}
	v := []float32{math.MaxFloat32, 1}
	if Normalize(v); math.Abs(float64(v[0])-1) > 1e-6 || v[0] > 1 {
		t.Errorf("%v", v)
	}
}
