// Package kernel multiplies and adds up single-precision matrices. What it
// computes depends on the machine in the last digits: sums of other widths are
// rounded elsewhere. Nothing that carries a guarantee may rest on it.
//
// A device multiplies by gonum, which it carries anyway. Programs that train import package
// kernel/vek, which does the same some times as fast.
package kernel

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// Products are what a library does: those of matrices, all row after row, whose lengths fit
// and are positive, with k the columns of a and rows of b, and inner products of vectors of one positive
// length.
type Products struct {
	Gemm func(dst, a, b []float32, m, k, n int)
	Dot  func(a, b []float32) float32
}

var products = Products{
	Gemm: func(dst, a, b []float32, m, k, n int) {
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, blas32.General{Rows: m, Cols: k, Stride: k, Data: a},
			blas32.General{Rows: k, Cols: n, Stride: n, Data: b}, 0, blas32.General{Rows: m, Cols: n, Stride: n, Data: dst})
	},
	Dot: func(a, b []float32) float32 {
		return blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
	},
}

// Use multiplies by another library from now on. It is called before main.
func Use(p Products) { products = p }

// Gemm sets dst (m x n) to the product of a (m x k) and b (k x n), all row after
// row. dst may not overlap a or b. It panics if a length does not fit.
func Gemm(dst, a, b []float32, m, k, n int) {
	if len(dst) != m*n || len(a) != m*k || len(b) != k*n {
		panic(fmt.Sprintf("kernel: a product of %dx%d and %dx%d with %d, %d and %d numbers", m, k, k, n, len(a), len(b), len(dst)))
	}
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		clear(dst)
		return
	}
	products.Gemm(dst, a, b, m, k, n)
}

// tile is the side of a square that Transpose turns at once: its rows and its
// columns stay in the nearest cache together.
const tile = 16

// Transpose sets dst (cols x rows) to a (rows x cols) turned over. They may not
// overlap.
func Transpose(dst, a []float32, rows, cols int) {
	if len(dst) != rows*cols || len(a) != rows*cols {
		panic(fmt.Sprintf("kernel: %d numbers transposed into %d as %dx%d", len(a), len(dst), rows, cols))
	}
	for top := 0; top < rows; top += tile {
		for left := 0; left < cols; left += tile {
			for r := top; r < min(top+tile, rows); r++ {
				for c := left; c < min(left+tile, cols); c++ {
					dst[c*rows+r] = a[r*cols+c]
				}
			}
		}
	}
}

// Dot is the inner product of two vectors of one length.
func Dot(a, b []float32) float32 {
	if len(a) == 0 && len(b) == 0 {
		return 0
	}
	return products.Dot(a, b)
}

// Axpy adds scale times x to y. It panics if y is shorter.
func Axpy(y, x []float32, scale float32) {
	y = y[:len(x)]
	for len(x) >= 8 { // eight at once: the bounds are checked once for all
		a, b := (*[8]float32)(y), (*[8]float32)(x)
		a[0] += scale * b[0]
		a[1] += scale * b[1]
		a[2] += scale * b[2]
		a[3] += scale * b[3]
		a[4] += scale * b[4]
		a[5] += scale * b[5]
		a[6] += scale * b[6]
		a[7] += scale * b[7]
		y, x = y[8:], x[8:]
	}
	for i, v := range x {
		y[i] += scale * v
	}
}

// Scale multiplies x by a number in place.
func Scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}
