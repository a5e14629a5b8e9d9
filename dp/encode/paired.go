package encode

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// paired holds random Fourier features in pairs, the cosine and the sine of the same
// <w, x>: f(x).g(y) = cos <w, x-y>, without an offset to average over.
//
// The vectors w are the rows of random rotations, scaled by sqrt2/h and by lengths that have the law of
// a normal vector's, chi of d degrees. Were the rotations uniform, each w would be exactly
// normal and the expectation exactly the kernel; those of rotation, d log d instead of d^2
// for d vectors, are nearly so, beta being below 0.6/d (TestPairedBias). Rows of one rotation
// are orthogonal, which lowers the error of their mean.
type paired struct {
	rotations []*rotation // each gives d pairs, the last maybe fewer
	lengths   []float32   // of w, one for each pair
}

// newPaired reads rotations from the stream "gaussian-paired/rotations", one after the
// other, and lengths from "gaussian-paired/lengths".
func newPaired(s Spec) family {
	f := &paired{lengths: make([]float32, s.Repetitions)}
	rotations := newStream(s.Seed, string(s.Kernel)+"/rotations")
	for range (s.Repetitions + s.Dimension - 1) / s.Dimension {
		f.rotations = append(f.rotations, newRotation(s.Dimension, rotations))
	}
	lengths := newStream(s.Seed, string(s.Kernel)+"/lengths")
	for i := range f.lengths {
		f.lengths[i] = float32(math.Sqrt2 / s.Bandwidth * lengths.chi(s.Dimension))
	}
	return f
}

// A pair is a point on the unit circle, and two of them are at most two apart: a bit
// moves by half a coordinate's difference, a pair by one in squares.
func (f *paired) shape() shape {
	n := len(f.lengths)
	return shape{channels: 2, bound: 1, query: 1, sparsity: 2, moves: Sensitivity{Coordinates: 2 * n, Gap: 1, SumSquares: slack * float64(n)}}
}

func (f *paired) features(x blas32.General, scale []float32, out blas32.General) {
	projections := make([]float32, x.Cols)
	for i := range x.Rows {
		lengths, o := f.lengths, row(out, i)
		for _, u := range f.rotations {
			u.rotate(row(x, i), projections)
			n := min(len(projections), len(lengths))
			for j, v := range projections[:n] {
				sin, cos := sinCos(float64(v * lengths[j] * scale[i]))
				pair := (*[2]float32)(o[2*j:])
				pair[0], pair[1] = cos, sin
			}
			lengths, o = lengths[n:], o[2*n:]
		}
	}
}

func (f *paired) queries(y blas32.General, scale []float32, out blas32.General) { // f = g
	f.features(y, scale, out)
}
