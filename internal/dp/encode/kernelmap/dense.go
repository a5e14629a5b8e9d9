package kernelmap

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// affine is a family whose features come from one product with a matrix of
// independent random weights: the cosine of it for Gaussian, itself for signs.
type affine struct {
	weights blas32.General // a row for each repetition
	offsets []float32      // added before the cosine; nil for signs
	bound   float64
}

// newGaussian draws weights from the stream "gaussian/weights", scaled by sqrt2/h,
// and offsets from "gaussian/offsets".
func newGaussian(s Spec) family {
	a := &affine{bound: math.Sqrt2, offsets: make([]float32, s.Repetitions)}
	offsets := newStream(s.Seed, string(s.Kernel)+"/offsets")
	for i := range a.offsets {
		a.offsets[i] = float32(2 * math.Pi * offsets.uniform())
	}
	a.draw(s, newStream(s.Seed, string(s.Kernel)+"/weights").normals, math.Sqrt2/s.Bandwidth)
	return a
}

// newSigns draws signs from the stream "ip-signs/weights"; f/R = <s, x>/sqrt d.
func newSigns(s Spec) family {
	root := math.Sqrt(float64(s.Dimension))
	a := &affine{bound: root}
	a.draw(s, newStream(s.Seed, string(s.Kernel)+"/weights").signs, 1/root)
	return a
}

func (a *affine) draw(s Spec, fill func([]float64), scale float64) {
	d := s.Dimension
	a.weights = blas32.General{Rows: s.Repetitions, Cols: d, Stride: d, Data: make([]float32, s.Repetitions*d)}
	z := make([]float64, d)
	for i := range s.Repetitions {
		fill(z)
		for j, v := range z {
			a.weights.Data[i*d+j] = float32(scale * v)
		}
	}
}

// Each bit of a Gaussian feature may move from one end to the other. So may that of
// a sign: at x = s/sqrt d.
func (a *affine) shape() shape {
	n := a.weights.Rows
	return shape{channels: 1, bound: a.bound, query: a.bound, sparsity: 1, moves: Sensitivity{Coordinates: n, Gap: 1, SumSquares: float64(n)}}
}

func (a *affine) features(x blas32.General, scale []float32, out blas32.General) {
	a.products(x, out)
	for i := range out.Rows {
		o := row(out, i)
		if a.offsets == nil {
			clip(o, scale[i])
			continue
		}
		for c, v := range o {
			o[c] = cosine(float64(v*scale[i] + a.offsets[c]))
		}
	}
}

func (a *affine) queries(y blas32.General, scale []float32, out blas32.General) { // f = g
	a.features(y, scale, out)
	for i := range out.Rows {
		blas32.Scal(float32(a.bound), vector(row(out, i)))
	}
}

func (a *affine) products(x, out blas32.General) {
	panels(a.weights, func(at int, panel blas32.General) {
		for i := range x.Rows {
			blas32.Gemv(blas.NoTrans, 1, panel, vector(row(x, i)), 0, vector(row(out, i)[at:at+panel.Rows]))
		}
	})
}

// panels visits a matrix by panels, the rows from at on. A panel stays in the
// second-level cache while it meets all rows of a block; whole-length dot products make
// this 1.7 times as fast as gonum's matrix product, which works on pieces of 64
// (BenchmarkMapAll, BenchmarkProduct).
func panels(weights blas32.General, visit func(at int, panel blas32.General)) {
	const cached = 1 << 16 // float32 of a panel: 256 KiB
	panel := weights
	for at := 0; at < weights.Rows; at += panel.Rows {
		panel.Rows = min(max(cached/panel.Cols, 1), weights.Rows-at)
		panel.Data = weights.Data[at*panel.Stride:]
		visit(at, panel)
	}
}

// identity is the value itself.
type identity struct{ dimension int }

func newIdentity(s Spec) family { return identity{s.Dimension} }

// Two values in a ball of radius 1 (and unitTolerance) are at most two apart, and a
// bit moves by half a coordinate's difference; clamping only brings them closer.
func (f identity) shape() shape {
	const longest = 1 + unitTolerance
	return shape{channels: f.dimension, bound: 1, query: 1, sparsity: f.dimension,
		moves: Sensitivity{Coordinates: f.dimension, Gap: 1, SumSquares: math.Min(float64(f.dimension), longest*longest*slack)}}
}

func (f identity) features(x blas32.General, scale []float32, out blas32.General) {
	for i := range x.Rows {
		copy(row(out, i), row(x, i))
		clip(row(out, i), scale[i])
	}
}

func (f identity) queries(y blas32.General, scale []float32, out blas32.General) {
	f.features(y, scale, out)
}

// clip multiplies by scale and clamps to [-1, 1].
func clip(out []float32, scale float32) {
	for i, v := range out {
		out[i] = min(max(v*scale, -1), 1)
	}
}
