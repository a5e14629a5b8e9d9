package kernelmap

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"
)

// paired holds random Fourier features in pairs, the cosine and the sine of the same
// <w, x>: f(x).g(y) = cos <w, x-y>, without an offset to average over.
//
// The vectors w are the rows of random rotations, scaled by sqrt2/h and by lengths that
// have the law of a normal vector's, chi of d degrees. Were the rotations uniform, each
// w would be exactly normal and the expectation exactly the kernel; those of rotation, d
// log d instead of d^2 for d vectors, are nearly so, beta being below 0.6/d
// (TestPairedBias). Rows of one rotation are orthogonal, which lowers the error of their
// mean.
type paired struct {
	rotations []*rotation // each gives d pairs, the last maybe fewer
	lengths   []float32   // of w, one for each pair
	moves     float64     // by replacing a value, of all bits, in squares
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
	furthest := math.Inf(1)
	if s.Normalize {
		furthest = 2
	}
	for from := 0; from < s.Repetitions; from += s.Dimension {
		pairs := f.lengths[from:min(from+s.Dimension, s.Repetitions)]
		// From a point of the circle to its middle, a pair moves by a quarter.
		f.moves += slack * math.Max(pairMoves(pairs, furthest), float64(len(pairs))/4)
	}
	return f
}

// pairMoves bounds the squared moves of the pairs of one rotation, replacing a value by
// one at a distance of at most furthest. A pair is a point on the unit circle; if its
// angle changes by t, the bits, which move by half a coordinate's difference, make
// (2 - 2 cos t)/4 in squares: up to one, where two bits alone could make two.
//
// The rows being orthogonal, the angles' squares add up to at most T = (furthest times
// the largest length)^2. With s = t^2, (1 - cos sqrt s)/2 has the derivative
// sin(sqrt s)/(4 sqrt s), which falls up to s = pi^2, where the maximum 1 is reached: cut
// off there it is concave, and the sum over n pairs is largest where all s are T/n.
// Wide kernels gain by this: for d pairs of unit vectors it is about (1 - cos(2.9/h))/2 a
// pair, 0.45 at h = 2. From about h = 3 on the reference is further from a value, at a
// quarter a pair, than another value can be.
func pairMoves(lengths []float32, furthest float64) float64 {
	n := float64(len(lengths))
	angle := furthest * float64(slices.Max(lengths)) / math.Sqrt(n)
	return n * (1 - math.Cos(math.Min(angle, math.Pi))) / 2
}

func (f *paired) shape() shape {
	return shape{channels: 2, bound: 1, query: 1, sparsity: 2, moves: Sensitivity{Coordinates: 2 * len(f.lengths), Gap: 1, SumSquares: f.moves}}
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
