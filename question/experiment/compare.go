package experiment

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// known says that something is known of a metric beforehand.
func known(m plan.Measure) bool { return m.Times != 0 || m.Rate != 0 || m.LostShare != 0 }

// Compare says, before anybody answers, what is cut off, how noisy the answer will be, and what a liar counts for.
func (q *Question) Compare() []question.Comparison {
	var all []question.Comparison
	for _, m := range q.ask.Metrics {
		all = append(all, question.Comparison{Key: "cut", Title: "What is cut off of " + m.Name, Says: lift.SayCut(m)})
	}
	n := q.plan.Crowd.Minimum
	says := fmt.Sprintf("Each of the %d sums has noise of %.3g people, of %d who answer. ", lift.Numbers(q.ask), lift.Deviation(q.ask, q.plan.Route, q.plan.Budget, n), n)
	if q.rows == nil {
		says += "Each number of a vector is proved to be in its range. One who lies counts for at most one person in each sum: so for two people in every arm and metric at once, as a device alone sees to it that the first two numbers sum to 1."
	} else {
		says += fmt.Sprintf("One who lies about its bits counts for up to %.2g people in one of these sums: where people are hostile, have the answers summed.", liar(q.ask))
	}
	return append(all, question.Comparison{Key: "noise", Title: "How exact it is", Says: says})
}

// liar returns how many people one counts for at most in a sum, who says what it likes in every row. The metrics' common
// weight is taken out of sums, and so multiplies what a liar adds.
func liar(ask plan.Experiment) float64 {
	return math.Sqrt(float64(len(ask.Metrics))) * ask.Bits.Clip / (1 - 2*ask.Bits.Flip)
}
