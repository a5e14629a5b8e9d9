package distribution

import (
	"fmt"
	"iter"
	"slices"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

func revealHistogram(p plan.Plan, h *histogram.Question, who iter.Seq2[question.Value, int]) (*results.Truth, error) {
	truth := &results.Truth{Tables: map[[2]int]*results.TableTruth{}}
	asked := p.Question.Histogram.Attributes
	for crowd := range p.Crowds() {
		for attribute := range asked {
			truth.Tables[[2]int{crowd, attribute}] = &results.TableTruth{Counts: make([]int, asked[attribute].Domain())}
		}
	}
	i := 0
	for v, n := range who {
		i++
		symbol, err := h.Encode(v)
		if _, err = question.Fits(err); err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		crowd, all := histogram.Held(symbol)
		for attribute, held := range all {
			t := truth.Tables[[2]int{crowd, attribute}]
			for _, cell := range held {
				t.Counts[cell] += n
			}
			a := asked[attribute]
			if x, ok := v.(histogram.Answers).Values[attribute].(float64); ok && a.Kind == "buckets" && len(held) == 1 && int(held[0]) < a.Cells {
				t.Numbers = append(t.Numbers, slices.Repeat([]float64{x}, n)...)
			}
		}
	}
	for _, t := range truth.Tables {
		slices.Sort(t.Numbers)
	}
	return truth, nil
}
