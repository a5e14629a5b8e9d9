package kernelmap

import "math"

// Spread is how far one repetition of features is from the kernel at the worst query, over the draws of the public
// randomness and for the worst values: what KDE's Theorem 3.2 bounds by powers of R and S.
type Spread struct {
	Beta   float64 // the most that E f(x).g(y) is from the kernel; of InnerRotated what clipping adds is not in it (ClipBias)
	Sample float64 // the most that the variance of the mean of f(x).g(y) over values x can be
	Query  float64 // the most that the expected sum of g(y)^2 over a repetition's channels can be
}

// Spread returns that of the kernel's row. The variance of a mean over values is at most the largest of one value's, so that
// one value at a distance of which the kernel is k is to be looked at.
func (f *Features) Spread() Spread { return kernels[f.spec.Kernel].spread(f.spec) }

// sampled returns the spread of Gaussian, whose f g = cos(w.(x-y)) + cos(w.(x+y) + 2b) has variance 1 + k^4/2 - k^2 <= 1, where
// E g^2 = 1; and of signed cells, whose f g = +-1 has mean k.
func sampled(Spec) Spread { return Spread{Sample: 1, Query: 1} }

// pairedSpread returns that of f g = cos(w.(x-y)), of variance (1 - k^2)^2/2 <= 1/2, and cos^2 + sin^2 = 1. Its repetitions count as
// independent, which errs more than rows of one rotation do, and Beta is that of the rotations: both by measurement
// (TestPairedBias) and not by proof.
func pairedSpread(s Spec) Spread {
	return Spread{Beta: pairedBeta / float64(s.Dimension), Sample: 0.5, Query: 1}
}

// projectedSpread returns Gaussian's, of values that are projected. Beta is that of uniform rotations, a root mean square over them.
func projectedSpread(s Spec) Spread {
	return Spread{Beta: projectedBeta(s.Dimension, s.Projection), Sample: 1, Query: 1}
}

// bucketedSpread returns that of f g, which is 1 or -1/(B-1), so of variance at most (B/(B-1))^2/4; the squares of g add up to B/(B-1).
func bucketedSpread(s Spec) Spread {
	beyond := float64(s.Buckets) / float64(s.Buckets-1)
	return Spread{Sample: beyond * beyond / 4, Query: beyond}
}

const longest = (1 + unitTolerance) * (1 + unitTolerance) // of a unit vector, squared

// signsSpread returns that of f g = <r, x><r, y>, of variance |x|^2 |y|^2 + <x, y>^2 - 2 sum x_i^2 y_i^2 <= 2.
func signsSpread(Spec) Spread { return Spread{Sample: 2 * longest * longest, Query: longest} }

// identitySpread returns that of g = y: the mean depends on nothing that is drawn.
func identitySpread(Spec) Spread { return Spread{Query: longest} }

// rotatedSpread returns that of g = U y over the gain of clipping: the mean depends on nothing that is drawn.
func rotatedSpread(s Spec) Spread {
	gain := clipped(s.Dimension, s.Clip).Gain
	return Spread{Query: slack / (gain * gain)}
}

// pairedBeta times 1/d bounds how far structured rotations are from uniform ones.
const pairedBeta = 0.6

// SupRMSE bounds the root mean square error of a density at any point, whatever the values: KDE's Theorem 3.2, with the
// family's own spread in the place of its bound. sum is the standard error of a channel's number of ones, n respondents.
// Random rounding of n values adds at most n/4 to its square.
func (f *Features) SupRMSE(sum float64, n int) float64 {
	s, step := f.Spread(), 2*f.Bound()/float64(n)
	variance := step * step * (sum*sum + float64(n)/4)
	return math.Sqrt(s.Beta*s.Beta + (s.Sample+s.Query*variance)/float64(f.Repetitions()))
}
