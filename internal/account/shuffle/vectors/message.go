package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Losses: a gap g at the edge multiplies the likelihood by 1+g/p at most. The logarithm
// is concave in g^2, so equal gaps make the most of the sum of their squares.
func (e VectorResponse) Losses() account.Losses {
	d := float64(e.Coordinates)
	return account.Losses{Report: d * math.Log1p(e.gaps()/(d*e.Flip)), Message: math.Log1p(e.widest() / e.Flip), Bound: account.Upper}
}

// Opened: as many vectors as there are rounds, though one lacks a coordinate, bound the rest.
func (e VectorResponse) Opened(rounds int) (rest []account.Event, alone account.Event) {
	return []account.Event{account.Repeat{Event: e, Rounds: rounds}}, nil
}

// BesideMessage takes the opened bit for a whole one of a respondent whom nobody hides.
func (e VectorResponse) BesideMessage(rounds int, delta float64) (float64, error) {
	return besideBit(e, e.Flip, rounds, delta)
}

// profiled has a profile of its own repetition.
type profiled interface {
	Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error)
}

// besideBit returns the epsilon at delta of so many rounds of a vector beside one of its bits
// that is seen by itself, whose gap is a whole bit at most: of randomized response with
// loss L and odds 1-p to p, the hockey stick at epsilon is (1-p) H(epsilon-L) +
// p H(epsilon+L), H the vector's in either direction, for which any bound may stand.
func besideBit(vector profiled, flip float64, rounds int, delta float64) (float64, error) {
	rest, _, err := vector.Profile(rounds, account.Options{Neglect: delta * profile.Neglect / float64(rounds+1)})
	if err != nil {
		return 0, err
	}
	local := math.Log1p(-flip) - math.Log(flip) // of the bit alone
	return profile.Invert(func(epsilon float64) (float64, error) {
		fall, err := rest.Delta(math.Abs(epsilon - local))
		if err != nil {
			return 0, err
		}
		if x := math.Exp(epsilon - local); x < 1 {
			fall = 1 - x + x*fall // the hockey stick below zero, by that of the reverse pair
		}
		rise, err := rest.Delta(epsilon + local)
		return ((1-flip)*fall + flip*rise) * (1 + profile.LawError), err
	}, delta)
}
