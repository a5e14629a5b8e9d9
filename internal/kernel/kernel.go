// Package kernel multiplies and adds up single-precision matrices. Used by internal/nn and internal/dp/encode.
//
// What it computes depends on the machine in the last digits: sums of other widths are rounded elsewhere. Nothing
// that carries a guarantee may rest on it.
//
// Products are those of gonum, but for matrices of several rows where the processor has AVX-512 or AVX2: there they
// are own kernels' (micro_amd64.s), some times as fast.
package kernel

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// strip is a matrix whose number (i, j) stands at i row + j column.
type strip struct {
	numbers     []float32
	row, column int
}

// A tile sets so many rows of a product, and at most so many of its columns, at once.
type tile struct {
	rows, columns int
	// set computes rows x columns of a product that has n columns, k terms each; b has n columns too.
	set func(dst []float32, a strip, b []float32, n, k, columns int)
}

// Gemm sets dst (m x n) to the product of a (m x k) and b (k x n), all row after
// row. dst may not overlap a or b. It panics if a length does not fit.
func Gemm(dst, a, b []float32, m, k, n int) {
	fits(dst, a, b, m, k, n)
	if !tiled(dst, strip{a, k, 1}, b, m, k, n) {
		whole(dst, blas.NoTrans, blas32.General{Rows: m, Cols: k, Stride: k, Data: a}, b, k, n)
	}
}

// TurnedGemm sets dst (m x n) to the product of a, which is k x m and turned over, and
// b (k x n), all row after row. dst may not overlap a or b. It panics if a length does not fit.
func TurnedGemm(dst, a, b []float32, m, k, n int) {
	fits(dst, a, b, m, k, n)
	if !tiled(dst, strip{a, 1, m}, b, m, k, n) {
		whole(dst, blas.Trans, blas32.General{Rows: k, Cols: m, Stride: m, Data: a}, b, k, n)
	}
}

func fits(dst, a, b []float32, m, k, n int) {
	if len(dst) != m*n || len(a) != m*k || len(b) != k*n {
		panic(fmt.Sprintf("kernel: a product of %dx%d and %dx%d with %d, %d and %d numbers", m, k, k, n, len(a), len(b), len(dst)))
	}
}

// tiled multiplies by the widest tile that has no more rows than there are. The last rows are
// set by a tile that overlaps the one before.
func tiled(dst []float32, a strip, b []float32, m, k, n int) bool {
	for _, t := range wide {
		if m < t.rows || k == 0 || n == 0 {
			continue
		}
		for left := 0; left < n; left += t.columns {
			columns := min(t.columns, n-left)
			for top := 0; top < m; top += t.rows {
				top := min(top, m-t.rows)
				t.set(dst[top*n+left:], strip{a.numbers[top*a.row:], a.row, a.column}, b[left:], n, k, columns)
			}
		}
		return true
	}
	return false
}

// whole multiplies by gonum.
func whole(dst []float32, turned blas.Transpose, a blas32.General, b []float32, k, n int) {
	switch {
	case len(dst) == 0:
	case k == 0:
		clear(dst)
	default:
		blas32.Gemm(turned, blas.NoTrans, 1, a, blas32.General{Rows: k, Cols: n, Stride: n, Data: b}, 0, blas32.General{Rows: len(dst) / n, Cols: n, Stride: n, Data: dst})
	}
}

// square is the side of what Transpose turns at once: its rows and its
// columns stay in the nearest cache together.
const square = 16

// Transpose sets dst (cols x rows) to a (rows x cols) turned over. They may not
// overlap.
func Transpose(dst, a []float32, rows, cols int) {
	if len(dst) != rows*cols || len(a) != rows*cols {
		panic(fmt.Sprintf("kernel: %d numbers transposed into %d as %dx%d", len(a), len(dst), rows, cols))
	}
	for top := 0; top < rows; top += square {
		for left := 0; left < cols; left += square {
			for r := top; r < min(top+square, rows); r++ {
				for c := left; c < min(left+square, cols); c++ {
					dst[c*rows+r] = a[r*cols+c]
				}
			}
		}
	}
}

// Dot returns the inner product of two vectors of one length.
func Dot(a, b []float32) float32 {
	return blas32.Dot(blas32.Vector{N: len(a), Inc: 1, Data: a}, blas32.Vector{N: len(b), Inc: 1, Data: b})
}

// Axpy adds scale times x to y. It panics if y is shorter.
func Axpy(y, x []float32, scale float32) {
	y = y[:len(x)]
	for i := axpy(y, x, scale); i < len(x); i++ {
		y[i] += scale * x[i]
	}
}

// Most raises each number of y to that of x. It panics if y is shorter.
func Most(y, x []float32) {
	y = y[:len(x)]
	for i := most(y, x); i < len(x); i++ {
		y[i] = max(y[i], x[i])
	}
}

// Pass moves to dx what of dy stands where x equals y. It panics if one is shorter than x.
func Pass(dx, dy, x, y []float32) {
	dx, dy, y = dx[:len(x)], dy[:len(x)], y[:len(x)]
	for i := pass(dx, dy, x, y); i < len(x); i++ {
		if x[i] == y[i] {
			dx[i] += dy[i]
			dy[i] = 0
		}
	}
}

// Gate sets dx to dy where x is above zero, and to zero elsewhere. It panics if one is shorter
// than x.
func Gate(dx, dy, x []float32) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	for i := gate(dx, dy, x); i < len(x); i++ {
		if dx[i] = 0; x[i] > 0 {
			dx[i] = dy[i]
		}
	}
}

// Scale multiplies x by a number in place.
func Scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}
