package protocol

import (
	"fmt"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/dp/encode"
)

// Truth is what a simulation knows of a table.
type Truth struct {
	Counts []int // respondents who hold each cell
	// Numbers are those that were answered to a question of buckets and lie in one, in
	// ascending order.
	Numbers []float64
}

// Reveal gives every table of the model its truth, from the population that it
// estimates: all respondents of a crowd, those included who were deleted or withheld.
// What the model describes afterwards has the truth beside it. Only simulations have a
// use for it: it sees every value.
func (m *HistogramModel) Reveal(values []Value) error {
	truth := make(map[[2]int]*Truth, len(m.Tables)) // by crowd and attribute
	for _, t := range m.Tables {
		truth[[2]int{t.Crowd, t.Attribute}] = &Truth{Counts: make([]int, len(t.Values))}
	}
	for i, v := range values {
		symbol, err := m.question.encode(v)
		if _, err = fits(err); err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
		s := symbol.(cellsHeld)
		for attribute, held := range s.held {
			t, released := truth[[2]int{s.crowd, attribute}]
			if !released {
				continue
			}
			for _, cell := range held {
				t.Counts[cell]++
			}
			asked := m.question.ask.Attributes[attribute]
			if x, ok := v.(Answers).Values[attribute].(float64); ok && asked.Kind == "buckets" && len(held) == 1 && int(held[0]) < asked.Cells {
				t.Numbers = append(t.Numbers, x)
			}
		}
	}
	for _, t := range m.Tables {
		t.Truth = truth[[2]int{t.Crowd, t.Attribute}]
		slices.Sort(t.Truth.Numbers)
	}
	return nil
}

// count is the number of respondents who hold a cell, nil where it is not known.
func (t *HistogramTable) count(cells ...int) *float64 {
	if t.Truth == nil {
		return nil
	}
	sum := 0.0
	for _, cell := range cells {
		sum += float64(t.Truth.Counts[cell])
	}
	return &sum
}

// mean is that of the numbers, clipped to the axis; nil where they are not known.
func (t *Truth) mean(axis encode.Axis) *float64 {
	if t == nil || len(t.Numbers) == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range t.Numbers {
		sum += min(axis.High, max(axis.Low, x))
	}
	sum /= float64(len(t.Numbers))
	return &sum
}

// quantile is the smallest number at or below which the share q of them lie.
func (t *Truth) quantile(q float64) (x float64, ok bool) {
	if t == nil || len(t.Numbers) == 0 {
		return 0, false
	}
	return t.Numbers[max(0, int(math.Ceil(q*float64(len(t.Numbers))))-1)], true
}
