package kde

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
)

// Loss returns what the accountant is told of one respondent's bits, one a channel of
// f, each through the bitsum that bit describes. Randomized response of buckets is
// accounted for by the two bits of a repetition that change. Where a replaced value moves
// probabilities by much less than each could move alone, it is accounted for as a vector
// (docs/vector-rr.md); otherwise every channel that can move is a round.
func Loss(f *kernelmap.Features, bit account.Event) account.Event {
	moves := f.Sensitivity()
	rr, ok := bit.(shuffle.RandomizedResponse)
	switch {
	case ok && moves.Buckets > 0 && rr.Flip < 0.5:
		return account.Repeat{Event: shuffle.BucketResponse(rr), Rounds: moves.Buckets}
	case ok && moves.Buckets == 0 && together(moves):
		return vectors.VectorResponse{Users: rr.Users, Coordinates: moves.Coordinates, Flip: rr.Flip, SquaredGap: moves.SumSquares}
	}
	return account.Repeat{Event: bit, Rounds: moves.Coordinates}
}

// together says whether the sum of squares is what limits the moves. At the
// same sum the rounds are accounted for exactly, the vector only to a few percent.
func together(moves kernelmap.Sensitivity) bool {
	return moves.SumSquares < 0.9*float64(moves.Coordinates)
}

// CalibrateRR finds the least flip probability with which the bits of f keep
// (epsilon, delta) among so many users, and the guarantee of exactly that.
func CalibrateRR(f *kernelmap.Features, users int, epsilon, delta float64, a calibrate.Accounting) (flip float64, g account.Guarantee, err error) {
	moves := f.Sensitivity()
	switch {
	case a == calibrate.Exact && moves.Buckets > 0:
		e, g, err := shuffle.CalibrateBuckets(calibrate.Target{Users: users, Rounds: moves.Buckets, Epsilon: epsilon, Delta: delta})
		return e.Flip, g, err
	case a != calibrate.Exact || !together(moves): // the paper knows of rounds only
		rr, g, err := shuffle.CalibrateRR(calibrate.Target{Users: users, Rounds: moves.Coordinates, Epsilon: epsilon, Delta: delta}, a)
		return rr.Flip, g, err
	}
	v, err := vectors.VectorFlip(users, moves.Coordinates, moves.SumSquares, epsilon, delta)
	if err != nil {
		return 0, g, err
	}
	g, err = account.Epsilon(v, delta)
	return v.Flip, g, err
}

// LocalEpsilon returns the epsilon, with delta 0, of the bits that one respondent sends by
// randomized response: what everyone together learns, +Inf at a flip probability of zero.
func LocalEpsilon(f *kernelmap.Features, flip float64) float64 {
	if flip == 0 {
		return math.Inf(1)
	}
	all := float64(f.Sensitivity().Coordinates) * (math.Log1p(-flip) - math.Log(flip))
	if local, err := account.LocalEpsilon(Loss(f, shuffle.RandomizedResponse{Users: 1, Flip: flip})); err == nil && local < all {
		return local
	}
	return all // vectors of so few flips have no account
}

// LocalFlip returns the least flip probability that keeps a local epsilon.
func LocalFlip(f *kernelmap.Features, epsilon float64) (float64, error) {
	return shuffle.LocalFlip(epsilon, 0.5-1e-12, func(flip float64) account.Event {
		return Loss(f, shuffle.RandomizedResponse{Users: 1, Flip: flip})
	})
}
