package encoder

import (
	"image"
	"image/color"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	learn "github.com/confetti-dp/confetti/internal/learn/latent"
)

// seenAt are local epsilons of the vector at which a picture shows what is left.
var seenAt = []float64{10, 5, 2}

// Picture has a column for each of some images of width x height numbers from 0 to 1: the image, what its
// code stands for, and what its code stands for with the noise that a device adds at an epsilon of 10, 5
// and 2.
func Picture(r *rand.Rand, e *latent.Encoder, m *Trained, likelihood string, x blas32.General, width, height int) (*image.Gray, error) {
	out := image.NewGray(image.Rect(0, 0, x.Rows*(width+1), (2+len(seenAt))*(height+1)))
	draw := func(column, row int, grey []float32) {
		for p, v := range grey {
			out.SetGray(column*(width+1)+p%width, row*(height+1)+p/width, color.Gray{Y: uint8(255 * min(1, max(0, v)))})
		}
	}
	codes := learn.Codes(e, x)
	for i := range x.Rows {
		code := codes.Data[i*codes.Stride:][:codes.Cols]
		draw(i, 0, x.Data[i*x.Stride:][:x.Cols])
		draw(i, 1, m.Reconstruct(likelihood, code))
		for row, epsilon := range seenAt {
			how := latent.Laplace{Dim: e.Dim(), Length: e.Length, Points: 1 << 12, Epsilon: epsilon}
			noisy, err := how.Read(how.Randomize(r, code))
			if err != nil {
				return nil, err
			}
			draw(i, 2+row, m.Reconstruct(likelihood, noisy))
		}
	}
	return out, nil
}
