package design

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// madeUp is how many people are made up to see errors, at most.
const madeUp = 4000

// Errors returns how far off the counts of each attribute will be in a crowd as small as may be: the largest standard error of a
// cell, by people who hold every listed value equally often. It returns nothing where values are not listed.
func Errors(p plan.Plan, r *rand.Rand) (errors []float64, err error) {
	h := p.Question.Histogram
	if h == nil {
		return nil, nil
	}
	proto, err := protocol.New(p)
	if err != nil {
		return nil, err
	}
	t, people := proto.NewTally(), min(p.Crowd.Minimum, madeUp)
	for range people {
		var said []any
		for _, a := range h.Attributes {
			switch {
			case len(a.Values) == 0:
				return nil, nil
			case a.Kind == "set":
				said = append(said, []string{a.Values[r.IntN(len(a.Values))]})
			default:
				said = append(said, a.Values[r.IntN(len(a.Values))])
			}
		}
		symbol, err := proto.Question.Encode(histogram.Answers{Values: said})
		if err != nil {
			return nil, err
		}
		report, err := proto.Question.Randomize(r, symbol, nil)
		if err != nil {
			return nil, err
		}
		for _, body := range report.Parts[0] {
			if err := t.Add(body); err != nil {
				return nil, err
			}
		}
	}
	values := proto.Estimate([]tally.Crowd{{Tally: t, Respondents: people}})[0]
	for _, a := range h.Attributes {
		largest := 0.0
		for _, v := range values[:a.Domain()] {
			largest = math.Max(largest, v.StdErr)
		}
		values = values[a.Domain():]
		// Errors of counts grow with the root of the people of one plan.
		errors = append(errors, largest*math.Sqrt(float64(p.Crowd.Minimum)/float64(people)))
	}
	return errors, nil
}
