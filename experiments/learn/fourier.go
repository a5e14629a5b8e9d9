package learn

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/model"
)

// fourier puts cosines along random directions beside standardized columns: random Fourier
// features of a Gaussian kernel whose bandwidth is the root of the number of columns.
func fourier(seed uint64, f *model.Features, x blas32.General, names []string) (blas32.General, []string) {
	f.Standardize(x)
	r := replay.New(seed, 5)
	directions, phases := matrix(fourierFeatures, x.Cols), make([]float64, fourierFeatures)
	for i := range directions.Data {
		directions.Data[i] = float32(r.NormFloat64() / math.Sqrt(float64(x.Cols)))
	}
	for i := range phases {
		phases[i] = 2 * math.Pi * r.Float64()
		names = append(names, fmt.Sprintf("cosine %d", i+1))
	}
	y, along := matrix(x.Rows, x.Cols+fourierFeatures), matrix(x.Rows, fourierFeatures)
	blas32.Gemm(blas.NoTrans, blas.Trans, 1, x, directions, 0, along)
	for i := range x.Rows {
		row := y.Data[i*y.Stride:][:y.Cols]
		copy(row, x.Data[i*x.Stride:][:x.Cols])
		for k, a := range along.Data[i*fourierFeatures:][:fourierFeatures] {
			row[x.Cols+k] = float32(math.Sqrt2 * math.Cos(float64(a)+phases[k]))
		}
	}
	return y, names
}
