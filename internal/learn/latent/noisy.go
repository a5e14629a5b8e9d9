package latent

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/learn/training"
)

// ByNoisy learns from the noisy vectors themselves, as LTN does (equation 8): it maximizes how likely each told class is,
// summed over the true ones. It returns nothing of a mechanism whose reports are no vectors.
func ByNoisy(r *rand.Rand, how latent.Mechanism, reports [][]byte, told []int, epsilon float64, classes int, tell func(stage string, done, total int)) (*Classifier, error) {
	m, ok := how.(latent.Readable)
	if !ok || len(reports) == 0 {
		return nil, nil
	}
	noisy := blas32.General{Rows: len(reports)}
	for _, report := range reports {
		x, err := m.Read(report)
		if err != nil {
			return nil, err
		}
		noisy.Cols, noisy.Stride, noisy.Data = len(x), len(x), append(noisy.Data, x...)
	}
	scale := training.NewScale(noisy) // of what was told
	net, err := training.Through(r, scale.Examples(noisy), told, epsilon, classes, tell)
	if err != nil {
		return nil, err
	}
	return &Classifier{net: net, by: 1}, scale.Into(net)
}

// Decoded returns records that reports may have come of: the mean of the public ones that lie nearest to each prototype, by
// the weights of prototypes. A prototype that no public record is nearest to is read as the mean of all.
func Decoded(e *latent.Encoder, weights []float32, public blas32.General) blas32.General {
	k, d := e.Prototypes.Rows, public.Cols
	means, all, counts := blas32.General{Rows: k, Cols: d, Stride: d, Data: make([]float32, k*d)}, make([]float64, d), make([]float64, k)
	sums := make([]float64, k*d)
	for i, at := range Nearest(e, public) {
		counts[at]++
		for j, v := range public.Data[i*public.Stride:][:d] {
			sums[at*d+j] += float64(v)
			all[j] += float64(v) / float64(public.Rows)
		}
	}
	for at, n := range counts {
		for j := range d {
			means.Data[at*d+j] = float32(all[j])
			if n > 0 {
				means.Data[at*d+j] = float32(sums[at*d+j] / n)
			}
		}
	}
	return Means(weights, means)
}

// Nearest returns for each public record the prototype that its code is nearest to.
func Nearest(e *latent.Encoder, public blas32.General) []int {
	codes, out := Codes(e, public), make([]int, public.Rows)
	for i := range out {
		out[i] = nearest(codes.Data[i*codes.Cols:][:codes.Cols], e.Prototypes)
	}
	return out
}

// nearest returns the prototype of the least distance.
func nearest(code []float32, prototypes blas32.General) (at int) {
	least := float32(0)
	for j := range prototypes.Rows {
		d := float32(0)
		for k, v := range prototypes.Data[j*prototypes.Stride:][:prototypes.Cols] {
			d += (code[k] - v) * (code[k] - v)
		}
		if j == 0 || d < least {
			least, at = d, j
		}
	}
	return at
}
