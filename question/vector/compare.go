package vector

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/question"
)

// Compare says, before anybody answers, what a liar counts for.
func (q *Question) Compare() []question.Comparison {
	var says string
	if q.whole != nil {
		says = q.saysLength()
	} else {
		says = fmt.Sprintf("One who lies about its bits counts for up to %.0f respondents: where people are hostile, have two aggregators add up vectors whose length devices prove (--hostile).", math.Ceil(q.liar()))
	}
	return []question.Comparison{{Key: "liars", Label: "What a liar counts for", Says: says}}
}

// saysLength speaks of vectors whose length is proved.
func (q *Question) saysLength() string {
	return fmt.Sprintf("A device proves how long its vector is, and not what it is of: one who lies counts for %.2f respondents at most.", math.Ceil(100*q.whole.Longest())/100)
}

// liar returns how many respondents one counts for who fills every envelope, each with another row: how long the estimate of its
// bits is, where honest vectors have length one.
func (q *Question) liar() float64 {
	s := q.spec()
	return s.Clip * math.Sqrt(float64(s.Envelopes)*float64(s.Rows)) / (float64(s.Answered) * (1 - 2*s.Flip) * s.Gain())
}
