package latent

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
)

// Codes returns the vectors of records, pulled back to the ball as devices do.
func Codes(e *latent.Encoder, x blas32.General) blas32.General {
	const block = 512
	out := blas32.General{Rows: x.Rows, Cols: e.Dim(), Stride: e.Dim(), Data: make([]float32, 0, x.Rows*e.Dim())}
	pass, rows := nn.NewPass(e.Net), make([]float32, 0, block*x.Cols)
	for from := 0; from < x.Rows; from += block {
		to := min(x.Rows, from+block)
		rows = rows[:0]
		for i := from; i < to; i++ {
			rows = append(rows, x.Data[i*x.Stride:][:x.Cols]...)
		}
		out.Data = append(out.Data, pass.Forward(rows, to-from)...)
	}
	for i := range out.Rows {
		pull(out.Data[i*out.Cols:][:out.Cols], e.Length)
	}
	return out
}

// pull brings a vector back to a length in the sum of magnitudes.
func pull(x []float32, length float64) {
	sum := 0.0
	for _, v := range x {
		sum += math.Abs(float64(v))
	}
	if sum > length {
		for i := range x {
			x[i] *= float32(length / sum)
		}
	}
}
