package law

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/latent"
)

// drawLatent draws what the histogram of symbols would.
func drawLatent(p plan.Plan, q *latent.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	inner, err := symbolsOf(q, values)
	if err != nil {
		return nil, err
	}
	return drawHistogram(q.InnerPlan(), q.Inner(), inner, stream, progress)
}

// symbolsOf are the symbols of records.
func symbolsOf(q *latent.Question, values Values) (Values, error) {
	inner := make(Values, len(values))
	for i, v := range values {
		r, ok := v.(latent.Record)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of a latent question", i+1)
		}
		var err error
		if inner[i], err = q.InnerValue(r); err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return inner, nil
}
