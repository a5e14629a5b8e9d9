package sketch

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
)

// Count is the count sketch (Charikar, Chen, Farach-Colton 2002). A value has a column
// and a sign in each row, and what others add to its column cancels in the mean.
//
// A column has two cells, one for each sign, and a device sets the one of its value's
// sign: a one-hot report over twice as many cells, of which changing the value changes
// two bits at most. (One cell that says +, - or nothing would have to send half of all
// columns.) So a device cannot tell it from a CountMean of twice the width, privacy
// included, and the same hash gives column and sign, jointly uniform.
//
// The two read the same counts differently: here the difference of two cells, which has
// twice the variance of the answers and of the collisions of CountMean at the same
// number of cells, but for which n need not be known.
type Count struct{ rows }

// NewCount has so many hash functions of so many columns each, drawn from the public
// seed, which must not depend on anybody's value.
func NewCount(hashes, width int, seed [32]byte) (*Count, error) {
	r, err := newRows(hashes, 2*min(width, maxChannels), seed)
	if err != nil {
		return nil, err
	}
	return &Count{r}, nil
}

// Estimate returns how many of n devices hold each candidate, from the counts of all
// channels: the counts of its cells, less those of the same columns' other cells, over
// gap. It is unbiased over the seed, the rows that devices draw and their answers,
// and does not use n. The squares of the standard errors are Variance with the estimates
// put in for what it asks, nothing below zero, low by a share 1/(rows width) of themselves.
func (s *Count) Estimate(counts []uint64, n int, a Answer, candidates []uint32) []estimate.Value {
	s.check(counts, n, a)
	pairs := s.pairs(counts, n, a)
	own, other := s.sums(counts, candidates, true)
	out := make([]estimate.Value, len(candidates))
	for i, t := range own {
		out[i] = s.value(float64(int64(t)), float64(int64(other[i])), n, pairs, a)
	}
	return out
}

func (s *Count) value(own, other float64, n int, pairs float64, a Answer) estimate.Value {
	devices := float64(n)
	f := (own - other) / a.gap()
	shared := (own + other - 2*devices*a.Unset.Mean) / a.gap()
	return estimate.Value{Mean: f, StdErr: math.Sqrt(s.variance(f, shared, devices, otherPairs(pairs, f), a))}
}

// Variance returns that of the estimate of a value that holders of n devices hold, over
// everything that is drawn: the answers, the rows, and the seed. Of the others it
// depends on pairs, the sum of f (f-1) over their values.
//
// A device that shares the candidate's column, as one in w columns does, adds a sign of
// mean zero, hence variance 1/w; two of one value share row, column and sign with
// probability 1/(w rows). Different values are independent in this, for which the hash
// functions must be independent on three values. The answers add the variance of two
// cells, one of them set where the column is shared, over gap^2.
func (s *Count) Variance(holders, n int, pairs float64, a Answer) float64 {
	f, devices := float64(holders), float64(n)
	return s.variance(f, f+2*(devices-f)/float64(s.cells), devices, pairs, a)
}

func (s *Count) variance(f, shared, n, pairs float64, a Answer) float64 {
	gap := a.gap()
	collisions := 2 / float64(s.cells) * (math.Max(0, n-f) + pairs/float64(s.Rows()))
	return (a.noise(n, shared)+a.noise(n, 0))/(gap*gap) + collisions
}
