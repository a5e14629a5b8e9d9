package kernelmap

import (
	"gonum.org/v1/gonum/blas/blas32"
)

// cells is a random partition of space for each repetition, in which two values
// share a cell with a probability that is the kernel.
type cells interface {
	// words writes, for each row of x times its scale and each repetition, a hash of the
	// cell that holds it: row by row.
	words(x blas32.General, scale []float32, out []uint64)
	repetitions() int
}

// The hash of a cell with coordinates c_1, c_2, ... of 32 bits is k_0 + sum k_j c_j modulo
// 2^64, of 64-bit keys from the stream "<kernel>/keys". Its upper 33 bits are
// exactly uniform and pairwise independent over the keys (multilinear hashing, Lemire and
// Kaser 2014: 64 bits less the 32 of a coordinate, plus one), which is all that the
// expectations below ask, so that no assumption about a cipher or digest comes in.

// bucketed is one of B channels for the bucket of the cell, and zero in the others.
// Two values share a bucket with probability P = k + (1-k)/B; the query features,
// (1 - 1/B)^-1 times the indicator less 1/B, take that back to k.
type bucketed struct {
	cells
	buckets int
}

func newBucketed(c func(Spec) cells) func(Spec) family {
	return func(s Spec) family { return &bucketed{cells: c(s), buckets: s.Buckets} }
}

// A replaced value leaves one bucket of each repetition, whose feature falls from 1 to
// 0, and enters another: two bits by half a gap.
func (f *bucketed) shape() shape {
	n := f.repetitions()
	return shape{channels: f.buckets, bound: 1, query: 1, sparsity: 1, moves: Sensitivity{Coordinates: 2 * n, Gap: 0.5, SumSquares: float64(n) / 2, Buckets: n}}
}

func (f *bucketed) features(x blas32.General, scale []float32, out blas32.General) {
	f.write(x, scale, out, 1, 0)
}

func (f *bucketed) queries(y blas32.General, scale []float32, out blas32.General) {
	f.write(y, scale, out, 1, -1/float32(f.buckets-1))
}

func (f *bucketed) write(x blas32.General, scale []float32, out blas32.General, in, others float32) {
	n := f.repetitions()
	words := make([]uint64, x.Rows*n)
	f.words(x, scale, words)
	for i := range x.Rows {
		o := row(out, i)
		for j := range o {
			o[j] = others
		}
		for j, w := range words[i*n : (i+1)*n] { // the upper 32 bits, times B, over 2^32
			o[j*f.buckets+int(w>>32*uint64(f.buckets)>>32)] = in
		}
	}
}

// signed is +1 or -1 for each cell. The signs of two cells are independent, so that E f g
// is the probability of sharing one: no bias, and one bit a repetition.
type signed struct{ cells }

func newSigned(c func(Spec) cells) func(Spec) family {
	return func(s Spec) family { return signed{c(s)} }
}

func (f signed) shape() shape {
	n := f.repetitions()
	return shape{channels: 1, bound: 1, query: 1, sparsity: 1, moves: Sensitivity{Coordinates: n, Gap: 1, SumSquares: float64(n)}}
}

func (f signed) features(x blas32.General, scale []float32, out blas32.General) {
	n := f.repetitions()
	words := make([]uint64, x.Rows*n)
	f.words(x, scale, words)
	for i := range x.Rows {
		o := row(out, i)
		for j, w := range words[i*n : (i+1)*n] {
			o[j] = 2*float32(w>>63) - 1
		}
	}
}

func (f signed) queries(y blas32.General, scale []float32, out blas32.General) {
	f.features(y, scale, out)
}
