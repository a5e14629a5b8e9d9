package results

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/release/sheets"
	"github.com/confetti-dp/confetti/question/histogram"
)

// MaxRows bounds the rows of a sheet: more are no table for a spreadsheet, which hold
// some 2^20.
const MaxRows = 1_000_000

// Counts returns every value of every attribute in every crowd that was released, in the
// order of the plan. Of more than the most values there are those with the largest
// estimates; the note says so, and is empty otherwise.
func Counts(model *histogram.Model, truth *Truth, most int) (counts []sheets.ValueCount, note string, err error) {
	m := newAnswers(model, truth)
	all := 0
	for _, t := range m.tables {
		all += len(t.Values)
	}
	if all == 0 {
		return nil, "", nil
	}
	least, exactly := m.threshold(most, all)
	for _, t := range m.tables {
		cells := make([]int, 0, min(len(t.Values), most))
		for cell, v := range t.Values {
			if v.Mean > least || v.Mean == least && exactly > 0 {
				if v.Mean == least {
					exactly--
				}
				cells = append(cells, cell)
			}
		}
		consistent, err := t.Consistent()
		if err != nil {
			return nil, "", err
		}
		crowd := ""
		if len(m.Respondents) > 1 {
			crowd = m.Crowds[t.Crowd]
		}
		one, atOnce := t.Intervals(cells, level), t.IntervalsAtOnce(cells, level)
		for i, cell := range cells {
			v := t.Values[cell]
			counts = append(counts, sheets.ValueCount{
				Attribute: t.Asked.Name, Crowd: crowd, Value: t.Name(cell), Estimate: v.Mean, StdErr: v.StdErr,
				Low: one[i][0], High: one[i][1], LowAll: atOnce[i][0], HighAll: atOnce[i][1],
				Consistent: consistent[cell], Truth: t.truth.count(cell),
			})
		}
	}
	if all > most {
		note = largestOf(most, all)
	}
	return counts, note, nil
}

func largestOf(most, all int) string {
	return fmt.Sprintf("%s has the %d values with the largest estimates of %d; its columns low_all and high_all hold for all values of an attribute at once.", sheets.CountsFile, most, all)
}

// threshold returns the estimate from which on cells are among the most, with how many of
// those that equal it are: all, where there are no more than most.
func (m *answers) threshold(most, all int) (least float64, exactly int) {
	means := make([]float64, 0, all)
	for _, t := range m.tables {
		for _, v := range t.Values {
			means = append(means, v.Mean)
		}
	}
	slices.SortFunc(means, func(a, b float64) int { return cmp.Compare(b, a) })
	least = means[min(most, all)-1]
	for _, mean := range means[:min(most, all)] {
		if mean == least {
			exactly++
		}
	}
	return least, exactly
}
