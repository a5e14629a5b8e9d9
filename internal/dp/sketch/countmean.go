package sketch

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// CountMean is the count-mean sketch. A value's count is that of its cells in all rows,
// less what hashing everybody else there brings in the mean.
type CountMean struct{ rows }

// NewCountMean has so many hash functions of so many cells each, drawn from the public
// seed, which must not depend on anybody's value.
func NewCountMean(hashes, width int, seed [32]byte) (*CountMean, error) {
	r, err := newRows(hashes, width, seed)
	if err != nil {
		return nil, err
	}
	return &CountMean{r}, nil
}

// Estimate returns how many of n devices hold each candidate, from the counts of all
// channels.
//
// The counts T of a candidate's cells have expectation n mu + gap s, where s, the devices
// whose value shares its row's cell with the candidate, has expectation f + (n-f)/K.
// Solved for f this is unbiased over the seed, the rows that devices draw and their
// answers. The squares of the standard errors are Variance with the estimates put in for
// what it asks, nothing below zero. They are low by a share 1/(rows (K-1)) of themselves,
// as the square of the estimate, of which the noise is a part, is taken off pairs.
// Errors of candidates that collide are correlated.
func (s *CountMean) Estimate(counts []uint64, n int, a Answer, candidates []uint32) []estimate.Value {
	s.check(counts, n, a)
	pairs := s.pairs(counts, n, a)
	own, _ := s.sums(counts, candidates, false)
	out := make([]estimate.Value, len(candidates))
	for i, t := range own {
		out[i] = s.value(float64(int64(t)), n, pairs, a)
	}
	return out
}

func (s *CountMean) value(t float64, n int, pairs float64, a Answer) estimate.Value {
	q, devices := 1/float64(s.cells), float64(n)
	shared := (t - devices*a.Unset.Mean) / a.gap()
	f := (shared - devices*q) / (1 - q)
	return estimate.Value{Mean: f, StdErr: math.Sqrt(s.variance(f, shared, devices, otherPairs(pairs, f), a))}
}

// Variance returns that of the estimate of a value that holders of n devices hold, over
// everything that is drawn: the answers, the rows, and the seed. Of the others it
// depends on pairs, the sum of f (f-1) over their values.
//
// A value held by f others shares the candidate's cell in a share P of the rows, of
// mean q = 1/K and variance q (1-q)/rows. Given P the devices draw rows with or
// without, so that their number in shared cells has variance
//
//	f E[P (1-P)] + f^2 Var P = q (1-q) (f + f (f-1)/rows).
//
// Different values are independent in this, for which the hash functions must be
// independent on three values. The answers add their own variance over gap^2.
func (s *CountMean) Variance(holders, n int, pairs float64, a Answer) float64 {
	f, devices := float64(holders), float64(n)
	return s.variance(f, f+(devices-f)/float64(s.cells), devices, pairs, a)
}

func (s *CountMean) variance(f, shared, n, pairs float64, a Answer) float64 {
	q := 1 / float64(s.cells)
	gap := a.gap()
	collisions := q * (1 - q) * (math.Max(0, n-f) + pairs/float64(s.Rows()))
	return (a.noise(n, shared)/(gap*gap) + collisions) / ((1 - q) * (1 - q))
}
