package learn

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/replay"
)

// fourier puts cosines along random directions beside standardized columns: random Fourier
// features of a Gaussian kernel whose bandwidth is the root of the number of columns.
func fourier(seed uint64, x blas32.General, features int) blas32.General {
	r := replay.New(seed, 5)
	directions, phases := matrix(features, x.Cols), make([]float64, features)
	for i := range directions.Data {
		directions.Data[i] = float32(r.NormFloat64() / math.Sqrt(float64(x.Cols)))
	}
	for i := range phases {
		phases[i] = 2 * math.Pi * r.Float64()
	}
	y := matrix(x.Rows, x.Cols+features)
	along := matrix(x.Rows, features)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, directions, 0, along)
	for i := range x.Rows {
		row := y.Data[i*y.Stride:][:y.Cols]
		copy(row, x.Data[i*x.Stride:][:x.Cols])
		for k, a := range along.Data[i*features:][:features] {
			row[x.Cols+k] = float32(math.Sqrt2 * math.Cos(float64(a)+phases[k]))
		}
	}
	return y
}
