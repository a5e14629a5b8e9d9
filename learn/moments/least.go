package moments

import (
	"math"

	"github.com/confetti-dp/confetti/dp/vector/record"
)

// Regression predicts a number, and says how far the truth is from it.
type Regression struct {
	Linear
	// Deviation of the truth from the prediction, estimated from the same sums.
	Deviation float64
}

// Value is the prediction for features.
func (r Regression) Value(x []float32) float64 { return r.Scores(x)[0] }

// Least is regularized least squares from the sums of n respondents.
func Least(s record.SquareSums, n int) (Regression, error) {
	c, err := newCentred(s.Sums, s.First, n)
	if err != nil {
		return Regression{}, err
	}
	l := c.least(s.Count)
	d, o := len(s.First), l.Offset[0]
	// The sum of (t - w x - o)^2, expanded in the moments.
	sum := s.Target + o*o*c.n - 2*o*s.Count[0]
	for i := range d {
		w := l.Weights.At(i, 0)
		sum += 2 * w * (o*s.First[i] - s.Class[i])
		for j := range d {
			sum += w * l.Weights.At(j, 0) * s.Second[i*d+j]
		}
	}
	return Regression{l, math.Sqrt(math.Max(0, sum/c.n))}, nil
}
