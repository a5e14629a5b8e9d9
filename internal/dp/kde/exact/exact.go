// Package exact returns densities without privacy, to measure against. Used by internal/simulate/measure.
package exact

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
)

// Densities returns the mean of a similarity to the rows x of xs at each row y of ys, without privacy, to measure against. Its
// cost, but for inner products, is the product of the two numbers of rows.
func Densities(of kernelmap.Similarity, xs, ys blas32.General, h float64) []float64 {
	switch of.Distance {
	case kernelmap.Euclidean:
		return euclidean(xs, ys, func(square float64) float64 { return of.Fade(math.Sqrt(square) / h) })
	case kernelmap.City:
		return city(xs, ys, func(distance float64) float64 { return of.Fade(distance / h) })
	}
	return Inner(xs, ys)
}

// Gaussian returns the mean of exp(-|x-y|^2/h^2).
func Gaussian(xs, ys blas32.General, h float64) []float64 {
	return Densities(kernelmap.Gaussian.Similarity(), xs, ys, h)
}

// city returns the mean of a kernel of sums of differences.
func city(xs, ys blas32.General, kernel func(distance float64) float64) []float64 {
	densities := make([]float64, ys.Rows)
	for i := range densities {
		y := row(ys, i).Data
		for j := range xs.Rows {
			var distance float64
			for c, v := range row(xs, j).Data {
				distance += math.Abs(float64(v - y[c]))
			}
			densities[i] += kernel(distance) / float64(xs.Rows)
		}
	}
	return densities
}

// euclidean returns the mean of a kernel of squared Euclidean distances.
func euclidean(xs, ys blas32.General, kernel func(square float64) float64) []float64 {
	const block = 512
	densities := make([]float64, ys.Rows)
	squares := func(x blas32.General) []float64 {
		s := make([]float64, x.Rows)
		for i := range s {
			r := row(x, i)
			s[i] = float64(blas32.Dot(r, r))
		}
		return s
	}
	xx, yy := squares(xs), squares(ys)
	products := blas32.General{Rows: block, Cols: block, Stride: block, Data: make([]float32, block*block)}
	for i := 0; i < ys.Rows; i += block {
		y := part(ys, i, block)
		for j := 0; j < xs.Rows; j += block {
			x := part(xs, j, block)
			products.Rows, products.Cols = y.Rows, x.Rows
			blas32.Gemm(blas.NoTrans, blas.Trans, 1, y, x, 0, products)
			for a := range y.Rows {
				var sum float64
				for b, v := range products.Data[a*block : a*block+x.Rows] {
					sum += kernel(max(0, xx[j+b]+yy[i+a]-2*float64(v)))
				}
				densities[i+a] += sum / float64(xs.Rows)
			}
		}
	}
	return densities
}

// Inner returns the mean of <x, y> over the rows x of xs at each row y of ys.
func Inner(xs, ys blas32.General) []float64 {
	mean := make([]float32, xs.Cols)
	for j := range mean {
		var sum float64
		for i := range xs.Rows {
			sum += float64(xs.Data[i*xs.Stride+j])
		}
		mean[j] = float32(sum / float64(xs.Rows))
	}
	densities := make([]float64, ys.Rows)
	for i := range densities {
		densities[i] = float64(blas32.Dot(row(ys, i), blas32.Vector{N: len(mean), Inc: 1, Data: mean}))
	}
	return densities
}

func part(x blas32.General, from, rows int) blas32.General {
	x.Rows = min(rows, x.Rows-from)
	x.Data = x.Data[from*x.Stride:]
	return x
}

func row(x blas32.General, i int) blas32.Vector {
	return blas32.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride : i*x.Stride+x.Cols]}
}
