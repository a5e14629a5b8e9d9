package kernelmap

import (
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/prob"
)

// projected are random Fourier features of a projection of the value to m directions: the Johnson-Lindenstrauss step of the
// remark after KDE's Theorem 3.3. With a public random rotation U and P x = sqrt(d/m) times the first m coordinates of U x,
// f = g = sqrt2 cos(sqrt2/h <w, P x> + b), w normal in m dimensions. A device spends d log d + I m on it and not I d.
//
// All repetitions share P, so that more of them do not average its error away: it is the family's beta (projectedBeta).
type projected struct {
	affine
	u       *rotation // from the stream "gaussian-projected/rotation"
	lengths float32   // sqrt(d/m)
}

// newProjected draws weights and offsets as newGaussian does, of m numbers.
func newProjected(s Spec) family {
	m := s
	m.Dimension = s.Projection
	return &projected{
		affine:  *newGaussian(m).(*affine),
		u:       newRotation(s.Dimension, newStream(s.Seed, string(s.Kernel)+"/rotation")),
		lengths: float32(math.Sqrt(float64(s.Dimension) / float64(s.Projection))),
	}
}

func (f *projected) project(x blas32.General, scale []float32) (blas32.General, []float32) {
	m := f.weights.Cols
	low := blas32.General{Rows: x.Rows, Cols: m, Stride: m, Data: make([]float32, x.Rows*m)}
	turned := make([]float32, x.Cols)
	scales := make([]float32, x.Rows)
	for i := range x.Rows {
		f.u.rotate(row(x, i), turned)
		copy(row(low, i), turned)
		scales[i] = scale[i] * f.lengths
	}
	return low, scales
}

func (f *projected) features(x blas32.General, scale []float32, out blas32.General) {
	low, scales := f.project(x, scale)
	f.affine.features(low, scales, out)
}

func (f *projected) queries(y blas32.General, scale []float32, out blas32.General) {
	low, scales := f.project(y, scale)
	f.affine.queries(low, scales, out)
}

// projectedBeta bounds the root mean square error that a projection from d to m dimensions adds to a Gaussian density at
// any point, over uniform rotations, whatever bandwidth and values: the squared length of what is projected becomes B times
// what it was, B being d/m times a Beta(m/2, (d-m)/2), and a kernel exp(-t) becomes exp(-t B). For every t that is off by at
// most
//
//	h(B) = |1-B| B^(B/(1-B)),
//
// the largest value over t, at t = ln B/(B-1); so beta^2 = E h(B)^2, about 2/(e^2 m) where m is far below d. The error of a
// mean over values is at most the mean of theirs.
func projectedBeta(d, m int) float64 {
	if m >= d {
		return 0
	}
	worst := func(b float64) float64 {
		if x := b - 1; math.Abs(x) < 1e-4 {
			return math.Abs(x) / math.E * (1 + math.Abs(x)) // a little above the limit
		}
		return math.Abs(1-b) * math.Exp(b/(1-b)*math.Log(b))
	}
	// Over the law of B m/d by its distribution function in steps, and in each the larger of both ends, since h falls up to
	// B = 1 and then rises; beyond them, where hardly anything is, 1, which h never is above.
	const steps = 4096
	p, q, most := float64(m)/2, float64(d-m)/2, float64(d)/float64(m)
	end := math.Min(1, (float64(m)+20*math.Sqrt(float64(m))+60)/float64(d))
	squares, below := 0.0, 0.0
	for i := range steps {
		low, high := end*float64(i)/steps, end*float64(i+1)/steps
		up := prob.RegularizedBeta(p, q, high)
		at := func(x float64) float64 {
			if x == 0 {
				return 1 // h falls from 1 at zero
			}
			return worst(most * x)
		}
		h := math.Max(at(low), at(high))
		squares += (up - below) * h * h
		below = up
	}
	return math.Sqrt(squares + (1 - below))
}
