package moments

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
)

// Regression predicts a number, and says how far the truth is from it.
type Regression struct {
	Linear
	// Deviation of the truth from the prediction, estimated from the same sums: what noise may
	// hide is counted to it, so that it is too small in one of 20 collections.
	Deviation float64
}

// Value returns the prediction for features.
func (r Regression) Value(x []float32) float64 { return r.Scores(x)[0] }

// Least is regularized least squares from the sums of n respondents.
func Least(s features.SquareSums, n int) (Regression, error) {
	c, err := newCentred(s.Sums, s.First, n)
	if err != nil {
		return Regression{}, err
	}
	l := c.least(s.Count)
	d, o := len(s.First), l.Offset[0]
	// The sum of (t - w x - o)^2, expanded in the moments.
	sum, length := s.Target+o*o*c.n-2*o*s.Count[0], 0.0
	for i := range d {
		w := l.Weights.At(i, 0)
		length += w * w
		sum += 2 * w * (o*s.First[i] - s.Class[i])
		for j := range d {
			sum += w * l.Weights.At(j, 0) * s.Second[i*d+j]
		}
	}
	sum += c.optimism(s.ClassNoise*s.ClassNoise + length*s.Noise*s.Noise)
	sum = math.Max(0, sum) + oneIn20*squaresError(s, length, o)
	return Regression{l, math.Sqrt(sum / c.n)}, nil
}

// oneIn20 is the quantile of a standard normal that it exceeds that often.
const oneIn20 = 1.645

// squaresError returns the standard error of the sum of squares that are left, given the squared
// length of the weights and the offset.
func squaresError(s features.SquareSums, length, offset float64) float64 {
	o := offset * offset
	return math.Sqrt(s.TargetNoise*s.TargetNoise + 4*o*s.CountNoise*s.CountNoise + 4*length*(o*s.FirstNoise*s.FirstNoise+s.ClassNoise*s.ClassNoise) + 2*length*length*s.Noise*s.Noise)
}

// optimism is by how much the squares that are left come out too small, in expectation and to
// the first order of the noise, as the weights were fitted to the same noisy sums: 2 tr P times the
// variance of the noise in an entry of the equations P w = x.
func (c centred) optimism(variance float64) float64 {
	trace := 0.0
	for _, v := range c.values {
		trace += 1 / (c.n * (v + c.ridge))
	}
	return 2 * trace * variance
}
