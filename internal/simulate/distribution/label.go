package distribution

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

// drawLabel draws what the question that the report goes by would draw, or lets every device
// report where each label stands by itself.
func drawLabel(p plan.Plan, q *label.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	if q.Inner() == nil {
		return drawEach(p, q, values, stream, progress)
	}
	inner, err := innerValues(values, "label", q.InnerValue)
	if err != nil {
		return nil, err
	}
	if h, ok := q.Inner().(*histogram.Question); ok {
		return drawHistogram(q.InnerPlan(), h, inner, stream, progress)
	}
	return drawVector(q.InnerPlan(), q.Inner().(*vector.Question), inner, stream, progress)
}

// innerValues returns those that the question is asked which the report of a kind goes by.
func innerValues[R, V any](values Values, kind string, of func(R) (V, error)) (Values, error) {
	inner := make(Values, len(values))
	for i, v := range values {
		r, ok := v.(R)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of a %s question", i+1, kind)
		}
		var err error
		if inner[i], err = of(r); err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return inner, nil
}

// drawEach has every device report its label by itself.
func drawEach(p plan.Plan, q *label.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forLabels = 0, 1
	counted, smallest := dealt(stream(forInstances), p, len(values))
	each := oneByOne{of: q, values: values, r: stream(forLabels), progress: progress}
	all, err := each.crowd(counted, smallest)
	if err != nil {
		return nil, err
	}
	progress(len(values))
	return []tally.Crowd{all}, each.unfit.err()
}

func revealLabel(q *label.Question, values Values) (*results.Truth, error) {
	if q.Inner() == nil {
		return &results.Truth{}, nil
	}
	inner, err := innerValues(values, "label", q.InnerValue)
	if err != nil {
		return nil, err
	}
	if h, ok := q.Inner().(*histogram.Question); ok {
		return revealHistogram(q.InnerPlan(), h, inner.each)
	}
	return revealVector(q.Inner().(*vector.Question), inner)
}
