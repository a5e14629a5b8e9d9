package design

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// madeUp is how many people are made up to see errors. Of few ones chance would make errors of none.
const madeUp = 4000

// tenth is the share of people who hold the value whose error is told.
const tenth = 0.1

// Errors returns how far off the count of a value that a tenth hold will be in a crowd as small as may be, of each attribute: its
// standard error, by people of whom a tenth hold the first value and the others every other equally often. Where
// values are not listed it returns instead the first sentence of what the question says of itself.
func Errors(p plan.Plan, r *rand.Rand) (errors []float64, says string, err error) {
	proto, err := protocol.New(p)
	if err != nil {
		return nil, "", err
	}
	h := p.Question.Histogram
	if h == nil {
		for _, c := range Compare(proto) {
			first, _, _ := strings.Cut(c.Says, ". ")
			return nil, first + ".", nil
		}
		return nil, "", nil
	}
	t := proto.NewTally()
	for range madeUp {
		var said []any
		for _, a := range h.Attributes {
			if len(a.Values) == 0 {
				return nil, "", nil
			}
			held := 0
			if others := len(a.Values) - 1; r.Float64() >= tenth {
				held = 1 + r.IntN(max(1, others))
			}
			switch {
			case a.Kind != "set":
				said = append(said, a.Values[min(held, len(a.Values)-1)])
			case held < len(a.Values):
				said = append(said, []string{a.Values[held]})
			default:
				said = append(said, []string{})
			}
		}
		symbol, err := proto.Question.Encode(histogram.Answers{Values: said})
		if err != nil {
			return nil, "", err
		}
		report, err := proto.Question.Randomize(r, symbol, nil)
		if err != nil {
			return nil, "", err
		}
		for _, body := range report.Parts[0] {
			if err := t.Add(body); err != nil {
				return nil, "", err
			}
		}
	}
	values := proto.Estimate([]tally.Crowd{{Tally: t, Respondents: madeUp}})[0]
	for _, a := range h.Attributes {
		// Errors of counts grow with the root of the people of one plan.
		errors = append(errors, values[0].StdErr*math.Sqrt(float64(p.Crowd.Minimum)/float64(madeUp)))
		values = values[a.Domain():]
	}
	return errors, "", nil
}
