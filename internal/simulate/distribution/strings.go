package distribution

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/strings"
)

// drawStrings draws every bit of every device, and makes no message of it. Those who hold the same follow
// each other, so that a string is rotated once.
func drawStrings(p plan.Plan, q *strings.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forBits = 0, 1
	pooled, near := who.(Pooled)
	if near {
		who = pooled.Values
	}
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	texts := make([]string, len(values))
	var unfit unfits
	for i, v := range values {
		if texts[i], ok = v.(string); !ok {
			return nil, fmt.Errorf("value %d is no string", i+1)
		}
		_, bad := q.Symbols(texts[i])
		unfit.add(i, bad)
	}
	counted, smallest := dealt(stream(forInstances), p, len(values))
	crowds := make([]tally.Crowd, 1)
	if len(counted) > 0 {
		held := map[string]int{}
		for _, i := range counted {
			held[texts[i]]++
		}
		same := slices.Sorted(maps.Keys(held))
		holders := make([]int, len(same))
		for i, text := range same {
			holders[i] = held[text]
		}
		if q.Summed() {
			sums := make([]int64, q.Code().Numbers())
			for _, text := range same {
				symbols, _ := q.Symbols(text)
				for i := range q.Code().Entries(symbols) {
					sums[i] += int64(held[text])
				}
			}
			if err := noised(p, sums, stream, 0); err != nil {
				return nil, err
			}
			t, err := q.Sums(sums, len(counted))
			if err != nil {
				return nil, err
			}
			progress(len(values))
			return []tally.Crowd{{Tally: t, Respondents: len(counted), Smallest: smallest}}, unfit.err()
		}
		t := q.NewTally().(*tally.Counts)
		if near {
			sum := make([]float64, q.Code().Numbers())
			for _, text := range same {
				symbols, _ := q.Symbols(text)
				for i, x := range q.Code().Entries(symbols) {
					sum[i] += float64(held[text]) * float64(x)
				}
			}
			q.Rows().DrawPooled(len(counted), sum, stream(forBits)).AddTo(t)
		} else {
			q.Rows().DrawAlike(holders, func(i int, v []float32) {
				symbols, _ := q.Symbols(same[i])
				q.Code().Write(symbols, v)
			}, func(part int) *rand.Rand { return stream(forBits, uint64(part)) }, progress).AddTo(t)
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit.err()
}

// revealStrings counts the strings themselves.
func revealStrings(q *strings.Question, values Values) (*results.Truth, error) {
	truth := &results.Truth{Strings: map[string]int{}}
	for i, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("value %d is no string", i+1)
		}
		symbols, _ := q.Symbols(text)
		text, _ = q.Code().Decode(symbols)
		truth.Strings[text]++
	}
	return truth, nil
}
