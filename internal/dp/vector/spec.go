// Package vector sums vectors of norm at most one from single bits that respondents answer in secret rows
// (docs/secret-rows.md). Used by question/vector and internal/question/gradient.
//
// A device rotates its vector by a public rotation, which spreads it evenly, and clips it. Each row, a rotated
// coordinate, it answers by a coin of its own: with one bit that is random with the coordinate as its mean, and
// flipped. It sends a constant number of messages, of which some say "no row". A Mechanism holds both ends: what the
// device does, its exact law, and the sum that the analyzer concludes from counts, with its error.
package vector

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/confetti-dp/confetti/internal/account/shuffle/vectors"
)

// Spec is all that the two ends must agree on.
type Spec struct {
	Dimension int // of a vector
	Rows      int // D, a power of two from Dimension up
	// Answered is the mean number of rows that a device answers: each with probability
	// Answered/Rows.
	Answered  int
	Envelopes int     // messages that a device sends, always
	Clip      float64 // R, at which rotated coordinates are clipped, in deviations of one
	Flip      float64 // p, in (0, 1/2)
	// SquaredDistance is the largest |v - v'|^2 of two vectors that respondents may hold, at
	// least 1 (the zero vector stands for one that does not fit) and at most 4.
	SquaredDistance float64
	Rare            float64  // chance, charged to delta, that rows are more crowded than accounted for
	Seed            [32]byte // of the rotation, public
	// Few says that vectors have few numbers, the sizes of which sum to at most Clip: each row is such a sum with signs, and
	// nothing is clipped.
	Few bool
}

// maxRows bounds memory; a channel then fits an int32.
const maxRows = 1 << 28

const (
	minClip = 0.5 // at half a deviation two thirds of the coordinates are clipped
	maxClip = 100
)

// LeastRows returns the smallest number of rows for vectors of a dimension of which a device answers
// so many, on average.
func LeastRows(dimension, answered int) int { return 1 << bits.Len(uint(max(dimension, answered)-1)) }

// Validate says what is wrong with the description.
func (s Spec) Validate() error {
	var errs []error
	need := func(holds bool, format string, args ...any) {
		if !holds {
			errs = append(errs, fmt.Errorf("vector: "+format, args...))
		}
	}
	need(s.Dimension >= 1, "%d dimensions: give at least 1", s.Dimension)
	need(s.Rows >= s.Dimension && s.Rows <= maxRows && bits.OnesCount(uint(s.Rows)) == 1, "%d rows for %d dimensions: give a power of two from that up to %d", s.Rows, s.Dimension, maxRows)
	need(s.Answered >= 1 && s.Answered <= s.Rows, "%d rows answered, on average: give 1 to %d", s.Answered, s.Rows)
	need(s.Envelopes >= s.Answered && s.Envelopes <= s.Rows, "%d envelopes: give a constant number from the %d answers to the %d rows", s.Envelopes, s.Answered, s.Rows)
	need(s.Clip >= minClip && s.Clip <= maxClip, "coordinates clipped at %v deviations: give %v to %v", s.Clip, minClip, maxClip)
	need(s.Flip > 0 && s.Flip < 0.5, "flip probability %v: give a number above 0 and below 1/2", s.Flip)
	need(s.SquaredDistance >= 1 && s.SquaredDistance <= 4, "squared distance %v of two vectors of norm at most 1: give 1 to 4", s.SquaredDistance)
	need(s.Rare > 0 && s.Rare < 1 || s.Answered == s.Rows, "chance %v of crowded rows: give a small part of delta", s.Rare)
	return errors.Join(errs...)
}

// slack is for what float32 coordinates and their rotation may err by: it enlarges the
// square of the distance of two vectors.
const slack = 1 + 1e-4

// Event returns what the accountant is told of the counts of so many honest respondents.
func (s Spec) Event(honest int) vectors.SecretRows {
	return vectors.SecretRows{
		Honest: honest, Rows: s.Rows, Answered: s.Answered, Envelopes: s.Envelopes, Flip: s.Flip, Rare: s.Rare,
		SquaredGap: slack * float64(s.Rows) * s.SquaredDistance / (4 * s.Clip * s.Clip),
	}
}

// NoRow returns the message that says nothing.
func (s Spec) NoRow() int { return 2 * s.Rows }

// Channel returns the message that answers a row.
func (s Spec) Channel(row int, one bool) int {
	if one {
		return 2*row + 1
	}
	return 2 * row
}

// share is q.
func (s Spec) share() float64 { return float64(s.Answered) / float64(s.Rows) }

// Liar returns for how many respondents a device counts that fills every envelope with a row of its own. It is the length
// of the estimate of its bits, where honest vectors have length one.
func (s Spec) Liar() float64 {
	return s.Clip * math.Sqrt(float64(s.Envelopes)*float64(s.Rows)) / (float64(s.Answered) * (1 - 2*s.Flip) * s.Gain())
}
