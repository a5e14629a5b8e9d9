package vector

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
	"github.com/confetti-dp/confetti/internal/prob"
)

// Need is what a collection is designed for.
type Need struct {
	Respondents     int // expected, for the error
	Honest          int // relied upon for privacy, at most Respondents
	Dimension       int
	Spare           int     // rows beyond the dimension, at least, which show the error
	Bits            int     // that a device answers, on average
	SquaredDistance float64 // Delta^2, of any two vectors
	Overlap         Overlap
	Seed            [32]byte
	Reach           float64 // of vectors of few numbers, to which the sizes of these sum at most; 0: of others
}

const (
	// overflowShare of delta is for devices with more answers than envelopes: so little that a
	// Gaussian dominates a round but for a hundredth of delta, which ledgers count by.
	overflowShare = 5e-4
	tailShare     = 0.02 // of delta, for what no Gaussian dominates
	rareShare     = 1e-4 // of delta, for crowded rows
)

// Design returns the description with the least error that is (epsilon, delta)-DP in one
// round.
func (n Need) Design(epsilon, delta float64) (Spec, error) {
	specs, err := Rounds([]Need{n}, []float64{1}, epsilon, delta)
	if err != nil {
		return Spec{}, err
	}
	return specs[0], nil
}

// Rounds are descriptions of rounds on the same respondents that are (epsilon, delta)-DP
// together, each chosen after what was seen of the earlier ones. Round i takes shares[i] of
// the squared shift of all.
func Rounds(needs []Need, shares []float64, epsilon, delta float64) ([]Spec, error) {
	if len(needs) == 0 || len(needs) != len(shares) {
		return nil, errors.New("vector: give rounds, and a share of the budget for each")
	}
	box, err := account.NewBox(epsilon, delta, tailShare)
	if err != nil {
		return nil, err
	}
	specs, rounds := make([]Spec, len(needs)), make([]vectors.SecretRows, len(needs))
	part := delta / float64(len(needs))
	for i, n := range needs {
		if specs[i], err = n.shape(box.Shift*math.Sqrt(shares[i]), part, part*overflowShare/(1+math.Exp(epsilon))); err != nil {
			return nil, err
		}
		rounds[i] = specs[i].Event(n.Honest)
	}
	if rounds, err = vectors.SecretFlips(rounds, shares, epsilon, delta); err != nil {
		return nil, err
	}
	for i, e := range rounds {
		specs[i].Flip = e.Flip
	}
	return specs, nil
}

// shape returns a description without its flip probability: rows from the dimensions and the
// bits, the clip of least error at that shift, and envelopes that some honest device
// outgrows with at most the chance overflow.
func (n Need) shape(shift, delta, overflow float64) (Spec, error) {
	if n.Honest < 1 || n.Respondents < n.Honest || n.Dimension < 1 || n.Bits < 1 || max(n.Dimension+n.Spare, n.Bits) > maxRows {
		return Spec{}, fmt.Errorf("vector: %d bits for %d dimensions from %d respondents, %d of them honest: give at least 1 of each", n.Bits, n.Dimension, n.Respondents, n.Honest)
	}
	s := Spec{
		Dimension: n.Dimension, Rows: LeastRows(n.Dimension+n.Spare, n.Bits), Answered: n.Bits,
		Flip: 0.25, SquaredDistance: n.SquaredDistance, Rare: delta * rareShare, Seed: n.Seed, Few: n.Reach > 0,
	}
	s.Envelopes = s.leastEnvelopes(overflow / float64(n.Honest))
	if s.Few {
		s.Clip = n.Reach * (1 + 1e-6) // of which rounding takes less
		return s, s.Validate()
	}
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

// leastEnvelopes returns the smallest number that a device outgrows with at most that
// probability.
func (s Spec) leastEnvelopes(chance float64) int {
	return s.Answered + sort.Search(s.Rows-s.Answered, func(more int) bool {
		return prob.LogBinomialSurvival(s.Answered+more, s.Rows, s.share()) <= math.Log(chance)
	})
}
