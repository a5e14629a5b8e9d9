package results

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/learn/moments"
	"github.com/confetti-dp/confetti/plan"
)

// A classifier that gives 0.9 to its own answer is calibrated where it is right in nine of ten,
// and off by 0.4 where in five.
func TestCalibration(t *testing.T) {
	l := &Linear{Linear: moments.Linear{Weights: mat.NewDense(1, 2, []float64{0.4, -0.4}), Offset: []float64{0.5, 0.5}}, Classes: []string{"a", "b"}}
	for right, want := range map[int]float64{9: 0, 5: 0.4} {
		test := Records{X: blas32.General{Rows: 10, Cols: 1, Stride: 1, Data: make([]float32, 10)}, Y: make([]int, 10)}
		for i := range 10 {
			test.X.Data[i] = 1
			if i >= right {
				test.Y[i] = 1
			}
		}
		metrics, tables := l.calibration(plan.SumsMoments, test)
		if len(metrics) != 1 || math.Abs(metrics[0].Value-want) > 1e-6 || len(tables) != 1 || len(tables[0].Rows) != 1 {
			t.Errorf("%d of ten: %+v, %+v", right, metrics, tables)
		}
		if wrong, err := l.Wrong(test); err != nil || wrong[0] != 0 || wrong[1] != 1 {
			t.Errorf("%v, %v", wrong, err)
		}
		if metrics, _ := l.calibration(plan.SumsClasses, test); metrics != nil {
			t.Error("sums of classes give no probability")
		}
	}
}
