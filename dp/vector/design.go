package vector

import (
	"fmt"
	"math"
	"math/bits"
	"sort"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Need is what a collection is designed for.
type Need struct {
	Respondents     int // expected, for the error
	Honest          int // relied upon for privacy, at most Respondents
	Dimension       int
	Bits            int     // that a device answers, on average
	SquaredDistance float64 // Delta^2, of any two vectors
	Overlap         Overlap
	Seed            [32]byte
}

const (
	overflowShare = 0.01 // of delta, for devices with more answers than envelopes
	rareShare     = 1e-4 // of delta, for crowded rows
)

// Design is the description with the least error that is (epsilon, delta)-DP in one
// round.
func (n Need) Design(epsilon, delta float64) (Spec, error) {
	box, err := account.NewBox(epsilon, delta, 2*overflowShare)
	if err != nil {
		return Spec{}, err
	}
	s, err := n.shape(box.Shift, delta, (1+math.Exp(epsilon))/overflowShare)
	if err != nil {
		return Spec{}, err
	}
	e, err := account.SecretFlip(s.Event(n.Honest), epsilon, delta)
	s.Flip = e.Flip
	return s, err
}

// DesignWithin is the same for one of several rounds, which is dominated by a Gaussian of
// that shift and tail: squares of shifts, and tails, of all rounds are to add up to an
// account.Box.
func (n Need) DesignWithin(shift, tail float64) (Spec, error) {
	if !(shift > 0) || !(tail > 0 && tail < 1) {
		return Spec{}, fmt.Errorf("vector: a round of shift %v and tail %v: give a shift above 0 and a tail in (0, 1)", shift, tail)
	}
	s, err := n.shape(shift, tail, 100/overflowShare)
	if err != nil {
		return Spec{}, err
	}
	e, err := account.SecretFlipWithin(s.Event(n.Honest), shift, tail)
	s.Flip = e.Flip
	return s, err
}

// shape is a description without its flip probability: rows from the dimensions and the
// bits, the clip of least error at that shift, and envelopes so many that at most
// delta/price of all honest devices outgrow theirs.
func (n Need) shape(shift, delta, price float64) (Spec, error) {
	if n.Honest < 1 || n.Respondents < n.Honest || n.Dimension < 1 || n.Bits < 1 || max(n.Dimension, n.Bits) > maxRows {
		return Spec{}, fmt.Errorf("vector: %d bits for %d dimensions from %d respondents, %d of them honest: give at least 1 of each", n.Bits, n.Dimension, n.Respondents, n.Honest)
	}
	s := Spec{
		Dimension: n.Dimension, Rows: 1 << bits.Len(uint(max(n.Dimension, n.Bits)-1)), Answered: n.Bits,
		Flip: 0.25, SquaredDistance: n.SquaredDistance, Rare: delta * rareShare, Seed: n.Seed,
	}
	s.Envelopes = s.leastEnvelopes(delta / price / float64(n.Honest))
	least := math.Inf(1)
	for clip := 1.2; clip < 4.05; clip += 0.05 {
		at := s
		at.Clip = clip
		if v := n.variance(at, shift); v < least {
			least, s.Clip = v, math.Round(20*clip)/20
		}
	}
	return s, s.Validate()
}

// excess is about what the accountant charges above a Gaussian of the counts' deviation.
const excess = 1.06

// variance of a coordinate of the sum as far as it depends on the clip: the curator's
// noise and that of rounding, and what clipping does.
func (n Need) variance(s Spec, shift float64) float64 {
	g := s.Gain()
	noise := excess*excess*s.SquaredDistance/(shift*shift) + float64(n.Respondents)*s.Clip*s.Clip/float64(s.Answered)
	clipping := s.Clipping(n.Respondents, n.Overlap)
	return noise/(g*g) + clipping*clipping
}

// leastEnvelopes is the smallest number that a device outgrows with at most that
// probability.
func (s Spec) leastEnvelopes(chance float64) int {
	return s.Answered + sort.Search(s.Rows-s.Answered, func(more int) bool {
		return prob.LogBinomialSurvival(s.Answered+more, s.Rows, s.share()) <= math.Log(chance)
	})
}
