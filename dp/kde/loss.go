package kde

import (
	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
)

// Loss is what the accountant is told of one respondent's bits, one a channel of
// f, each through the bitsum that bit describes. Where a replaced value moves
// their probabilities by much less than each could move alone, randomized
// response is accounted for as a vector (docs/vector-rr.md); otherwise every
// channel that can move is a round.
func Loss(f *encode.Features, bit account.Event) account.Event {
	moves := f.Sensitivity()
	if rr, ok := bit.(account.RandomizedResponse); ok && together(moves) {
		return account.VectorResponse{Users: rr.Users, Coordinates: moves.Coordinates, Flip: rr.Flip, SquaredGap: moves.SumSquares}
	}
	return account.Repeat{Event: bit, Rounds: moves.Coordinates}
}

// together says whether the sum of squares is what limits the moves. At the
// same sum the rounds are accounted for exactly, the vector only to a few percent.
func together(moves encode.Sensitivity) bool {
	return moves.SumSquares < 0.9*float64(moves.Coordinates)
}

// CalibrateRR finds the least flip probability with which the bits of f keep
// (epsilon, delta) among so many users, and the guarantee of exactly that.
func CalibrateRR(f *encode.Features, users int, epsilon, delta float64, a account.Accounting) (flip float64, g account.Guarantee, err error) {
	moves := f.Sensitivity()
	if !together(moves) || a != account.ExactAccounting { // the paper knows of rounds only
		rr, g, err := account.CalibrateRR(account.Target{Users: users, Rounds: moves.Coordinates, Epsilon: epsilon, Delta: delta}, a)
		return rr.Flip, g, err
	}
	v, err := account.VectorFlip(users, moves.Coordinates, moves.SumSquares, epsilon, delta)
	if err != nil {
		return 0, g, err
	}
	g, err = account.Epsilon(v, delta)
	return v.Flip, g, err
}
