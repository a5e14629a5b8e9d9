package distribution

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/plan"
)

// drawGradient lets every device report: no shorter law of so many directions is known. Aggregators of whole gradients add
// their noise.
// Which devices are in a batch is drawn first.
func drawGradient(p plan.Plan, q *gradient.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forReports, forBatches = 0, 1
	counted, smallest := dealt(stream(forBatches), p, len(values))
	if len(counted) == 0 {
		progress(len(values))
		return []tally.Crowd{{}}, nil
	}
	crowd := tally.Crowd{Tally: q.NewTally(), Respondents: len(counted), Smallest: smallest}
	parts := make([]map[int]*question.OutOfDomainError, (len(counted)+part-1)/part)
	err := inParts(counted, crowd.Tally, func(at int, who []int) (own tally.Tally, err error) {
		own, parts[at], err = reported(q, values, who, stream(forReports, uint64(at)))
		return own, err
	}, progress)
	if sums, ok := crowd.Tally.(*tally.Sums); ok && err == nil {
		err = addNoise(sums.N, p, stream)
	}
	if err != nil {
		return nil, err
	}
	var unfit unfits
	for at, bad := range parts {
		for i, e := range bad {
			unfit.add(counted[at*part+i], e)
		}
	}
	return []tally.Crowd{crowd}, unfit.err()
}

// reported returns the tally of some devices, and which of their values do not fit.
func reported(q *gradient.Question, values Values, who []int, r *rand.Rand) (tally.Tally, map[int]*question.OutOfDomainError, error) {
	t, bad := q.NewTally(), map[int]*question.OutOfDomainError{}
	var failed error
	err := q.Draw(r, func(yield func(question.Symbol) bool) {
		for i, at := range who {
			symbol, err := q.Encode(values[at])
			unfit, err := question.Fits(err)
			if err != nil {
				failed = fmt.Errorf("value %d: %w", at+1, err)
				return
			}
			if unfit != nil {
				bad[i] = unfit
			}
			if !yield(symbol) {
				return
			}
		}
	}, t)
	return t, bad, cmp.Or(failed, err)
}
