package vectors

import (
	"math"

	"github.com/confetti-dp/confetti/account"
)

// Losses of all that a device sends, and of one answer. Which rows it answers tells
// nothing of its vector. A move g at the edge multiplies the likelihood by 1+g/p at most;
// the logarithm is concave in g^2, so that equal moves of as many answers as there is room
// for make the most of the sum of their squares.
func (e SecretRows) Losses() account.Losses {
	keep, room := 1-2*e.Flip, float64(e.Envelopes)
	move := keep * math.Sqrt(math.Min(e.SquaredGap, room)/room)
	return account.Losses{
		Report:  room * math.Log1p(move/e.Flip),
		Message: math.Log1p(keep * math.Min(1, math.Sqrt(e.SquaredGap)) / e.Flip),
		Bound:   account.Upper,
	}
}

// Opened: one row too many stays, which bounds the others.
func (e SecretRows) Opened(rounds int) (rest []account.Event, alone account.Event) {
	return []account.Event{account.Repeat{Event: e, Rounds: rounds}}, nil
}

// BesideMessage takes the opened answer for a whole bit of a respondent whom nobody hides.
func (e SecretRows) BesideMessage(rounds int, delta float64) (float64, error) {
	return besideBit(e, e.Flip, rounds, delta)
}
