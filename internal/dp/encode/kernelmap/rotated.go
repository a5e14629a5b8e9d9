package kernelmap

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/prob"
)

// minClip keeps most coordinates from being clipped: at half a deviation two
// thirds are.
const minClip = 0.5

// rotated spreads a unit vector evenly over its d bits before it rounds them. A
// coordinate of z = sqrt(d) U x is about a standard normal whatever x is, so that few
// are clipped at two or three, and a bit carries z/C where InnerIdentity carries x.
type rotated struct {
	u    *rotation // from the stream "ip-rotated/rotation"
	clip float64
	lift float32 // sqrt(d)/C
	gain float64
}

func newRotated(s Spec) family {
	return &rotated{
		u:    newRotation(s.Dimension, newStream(s.Seed, string(s.Kernel)+"/rotation")),
		clip: s.Clip,
		lift: float32(math.Sqrt(float64(s.Dimension)) / s.Clip),
		gain: clipped(s.Dimension, s.Clip).Gain,
	}
}

// Clipping is a contraction and U an isometry, so that the moves of the bits, half the
// differences of clip(z)/C, have squares of sum |z-z'|^2/(4 C^2) = d|x-x'|^2/(4 C^2)
// at most, which is d/C^2 as values are of length one.
func (f *rotated) shape() shape {
	d := len(f.u.permutation)
	return shape{channels: d, bound: f.clip / math.Sqrt(float64(d)), query: 1 / f.gain, sparsity: d,
		moves: Sensitivity{Coordinates: d, Gap: 1, SumSquares: math.Min(float64(d), slack*float64(d)/(f.clip*f.clip))}}
}

func (f *rotated) features(x blas32.General, scale []float32, out blas32.General) {
	for i := range x.Rows {
		f.u.rotate(row(x, i), row(out, i))
		clip(row(out, i), scale[i]*f.lift)
	}
}

func (f *rotated) queries(y blas32.General, scale []float32, out blas32.General) {
	for i := range y.Rows {
		f.u.rotate(row(y, i), row(out, i))
		blas32.Scal(scale[i]/float32(f.gain), vector(row(out, i)))
	}
}

// Isometry is what an inner product family does to unit vectors, on average over
// its random draws: the features of one repetition are an orthogonal image of
// Gain times the vector, plus an error that has no direction. Energy is the sum of their
// squares, of one value.
type Isometry struct{ Gain, Energy float64 }

// Isometry is ok for inner products only.
func (f *Features) Isometry() (_ Isometry, ok bool) {
	switch {
	case f.spec.Kernel == InnerRotated:
		return clipped(f.spec.Dimension, f.spec.Clip), true
	case kernels[f.spec.Kernel].of.Fade == nil:
		return Isometry{Gain: 1, Energy: 1}, true
	}
	return Isometry{}, false
}

// clipped returns the isometry of clipping z = sqrt(d) u at C, u a coordinate of a uniform unit
// vector: E clip(z) U y = Gain <x, y> by symmetry about x, with Gain = E z clip(z).
// The density of u is (1-u^2)^((d-3)/2) but for a constant; by parts,
//
//	E u c(u) = E c'(u) (1-u^2)/(d-1),   so   Gain = I_{C^2/d}(1/2, (d+1)/2),
//
// I the regularized incomplete beta function, close to P(|Z| < C) of a standard normal
// Z. And as u^2 is Beta(1/2, (d-1)/2), E clip(z)^2 = I_{C^2/d}(3/2, (d-1)/2) + C^2 P(u^2
// > C^2/d).
func clipped(d int, clip float64) Isometry {
	n, x := float64(d), clip*clip/float64(d)
	if x >= 1 {
		return Isometry{Gain: 1, Energy: 1}
	}
	i := Isometry{Gain: prob.RegularizedBeta(0.5, (n+1)/2, x), Energy: clip * clip}
	if d > 1 {
		i.Energy = prob.RegularizedBeta(1.5, (n-1)/2, x) + clip*clip*(1-prob.RegularizedBeta(0.5, (n-1)/2, x))
	}
	return i
}

// ClipBias says what clipping does to a density of InnerRotated, measured on public
// values of which respondents are like: the share of coordinates that are clipped, and
// the largest bias of a density at any y, which is the length of the mean error
//
//	mean of clip(z)/(Gain sqrt d) - U x
//
// over the values, since |y| = 1. The mean is not debiased, so that few values give a
// bound that is too large. For other kernels both are zero.
func (f *Features) ClipBias(x blas32.General) (share, bound float64, err error) {
	r, ok := f.family.(*rotated)
	if !ok || x.Rows == 0 {
		return 0, 0, nil
	}
	out := blas32.General{Rows: x.Rows, Cols: f.Channels(), Stride: f.Channels(), Data: make([]float32, x.Rows*f.Channels())}
	if err := f.QueryAll(x, out); err != nil {
		return 0, 0, err
	}
	limit := r.shape().bound
	errors := make([]float64, out.Cols)
	for i := range out.Rows {
		for c, v := range row(out, i) {
			plain := float64(v) * r.gain
			kept := math.Min(math.Max(plain, -limit), limit)
			if kept != plain {
				share++
			}
			errors[c] += kept/r.gain - plain
		}
	}
	n := float64(x.Rows)
	for _, e := range errors {
		bound += e * e / (n * n)
	}
	return share / (n * float64(out.Cols)), math.Sqrt(bound), nil
}
