// Package moments learns linear classifiers from sums over respondents: second moments, sums of classes, and
// gradients. Used by internal/release/results, internal/learn/model and lab/learn.
package moments

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/confetti-dp/confetti/internal/dp/vector/features"
)

// Linear is a classifier: the class of the largest score, which is a column of Weights
// times the features plus Offset.
type Linear struct {
	Weights *mat.Dense // a row for each feature, a column for each class
	Offset  []float64
}

// Scores of features, one for each class.
func (l Linear) Scores(psi []float32) []float64 {
	scores := append([]float64(nil), l.Offset...)
	raw := l.Weights.RawMatrix()
	for i, x := range psi {
		for k, w := range raw.Data[i*raw.Stride:][:raw.Cols] {
			scores[k] += w * float64(x)
		}
	}
	return scores
}

// Class returns that of the largest score.
func (l Linear) Class(psi []float32) int {
	scores := l.Scores(psi)
	best := 0
	for k, s := range scores {
		if s > scores[best] {
			best = k
		}
	}
	return best
}

// noiseShare is how much of the spectral norm of the noise in second moments is added to
// their eigenvalues.
const noiseShare = 0.5

// centred is what the sums of n respondents say about the middle of their features.
type centred struct {
	n       float64
	mean    *mat.VecDense
	values  []float64  // eigenvalues of the covariance, not below zero
	vectors *mat.Dense // a column each
	cross   *mat.Dense // covariance of features and class, a column for each class
	ridge   float64    // lambda
}

// newCentred, with the sum of all features: noise of deviation sigma in each entry has a spectral norm of 2 sigma sqrt d
// (Wigner), against which lambda guards.
func newCentred(s features.Sums, first []float64, n int) (centred, error) {
	classes := len(s.Count)
	d := len(s.Class) / max(1, classes)
	if n < 1 || d < 1 || len(s.Class) != d*classes || len(s.Second) != d*d || len(first) != d || !(s.Noise >= 0) {
		return centred{}, fmt.Errorf("moments: sums of %d features and %d classes over %d respondents do not fit", d, classes, n)
	}
	c := centred{n: float64(n), mean: mat.NewVecDense(d, nil), cross: mat.NewDense(d, classes, nil)}
	for i, sum := range first {
		c.mean.SetVec(i, sum/c.n)
	}
	covariance := mat.NewSymDense(d, nil)
	covariance.ScaleSym(1/c.n, mat.NewSymDense(d, s.Second))
	covariance.SymRankOne(covariance, -1, c.mean)
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return centred{}, errors.New("moments: the covariance has no eigenvectors: are the sums finite?")
	}
	c.values, c.vectors = eigen.Values(nil), new(mat.Dense)
	eigen.VectorsTo(c.vectors)
	for i, v := range c.values {
		c.values[i] = math.Max(0, v)
	}
	c.ridge = noiseShare * 2 * s.Noise * math.Sqrt(float64(d)) / c.n
	if least := 1e-9 * c.values[d-1]; c.ridge < least { // exact sums
		c.ridge = least
	}
	if !(c.ridge > 0) {
		return centred{}, errors.New("moments: the features do not vary")
	}
	for k := range classes {
		for i := range d {
			c.cross.Set(i, k, (s.Class[k*d+i]-c.mean.AtVec(i)*s.Count[k])/c.n)
		}
	}
	return c, nil
}

// power returns (covariance + lambda)^-p.
func (c centred) power(p float64) *mat.Dense {
	var scaled, out mat.Dense
	scaled.Apply(func(_, j int, v float64) float64 { return v * math.Pow(c.values[j]+c.ridge, -p) }, c.vectors)
	out.Mul(&scaled, c.vectors.T())
	return &out
}

// Ridge returns the classifier by regularized least squares from the sums of n respondents.
func Ridge(s features.Sums, n int) (Linear, error) {
	c, err := newCentred(s, ofAll(s), n)
	if err != nil {
		return Linear{}, err
	}
	return c.least(s.Count), nil
}

// ofAll returns the sum of all features: every respondent is of one class.
func ofAll(s features.Sums) []float64 {
	first := make([]float64, len(s.Class)/max(1, len(s.Count)))
	for i, x := range s.Class {
		first[i%len(first)] += x
	}
	return first
}

// least squares, given the sum of each target.
func (c centred) least(count []float64) Linear {
	l := Linear{Weights: new(mat.Dense), Offset: make([]float64, len(count))}
	l.Weights.Mul(c.power(1), c.cross)
	for k := range l.Offset {
		l.Offset[k] = count[k]/c.n - mat.Dot(l.Weights.ColView(k), c.mean)
	}
	return l
}
