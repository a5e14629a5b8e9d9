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
		says = q.whole.Says("vector")
	} else {
		says = fmt.Sprintf("One who lies about its bits counts for up to %.0f respondents: where people are hostile, have two aggregators add up vectors whose length devices prove (--hostile).", math.Ceil(q.spec().Liar()))
	}
	return []question.Comparison{{Key: "liars", Title: "What a liar counts for", Says: says}}
}
