package distribution

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
)

// drawTable draws every bit of every device, and makes no message of it; of sums it draws their noise.
func drawTable(p plan.Plan, q *table.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forBits = 0, 1
	pooled, near := who.(Pooled)
	if near {
		who = pooled.Values
	}
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	records, unfit, err := recordsOf(q, values)
	if err != nil {
		return nil, err
	}
	counted, smallest := dealt(stream(forInstances), p, len(values))
	crowds := make([]tally.Crowd, 1)
	if len(counted) > 0 && q.Summed() {
		sums, r := make([]int64, q.Code().Cells()), stream(forBits)
		marked := make([]uint64, len(sums))
		for _, i := range counted {
			q.Code().Mark(r, records[i], marked)
			for cell, x := range marked {
				sums[cell] += int64(x)
			}
		}
		if err := noised(p, sums, stream, 0); err != nil {
			return nil, err
		}
		t, err := q.Sums(sums, len(counted))
		if err != nil {
			return nil, err
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	} else if len(counted) > 0 {
		t := q.NewTally().(*tally.Counts)
		if near {
			sum, v := make([]float64, q.Code().Numbers()), make([]float32, q.Code().Numbers())
			for _, i := range counted {
				q.Code().Write(records[i], v)
				for k, x := range v {
					sum[k] += float64(x)
				}
			}
			q.Rows().DrawPooled(len(counted), sum, stream(forBits)).AddTo(t)
		} else {
			q.Rows().DrawAll(len(counted), func(i int, v []float32) { q.Code().Write(records[counted[i]], v) },
				func(part int) *rand.Rand { return stream(forBits, uint64(part)) }, progress).AddTo(t)
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit
}

// recordsOf returns the record of each respondent; unfit is of values that are none of a column's.
func recordsOf(q *table.Question, values Values) (records [][]int, unfit, err error) {
	var bad unfits
	for i, v := range values {
		held, ok := v.([]any)
		if !ok {
			return nil, nil, fmt.Errorf("value %d is no record", i+1)
		}
		record, err := q.Record(held)
		own, failed := question.Fits(err)
		if failed != nil {
			return nil, nil, failed
		}
		bad.add(i, own)
		records = append(records, record)
	}
	return records, bad.err(), nil
}

// revealTable counts the records themselves. One whose value is none of its column's counts for each of them a little.
func revealTable(q *table.Question, values Values) (*results.Truth, error) {
	records, _, err := recordsOf(q, values)
	if err != nil {
		return nil, err
	}
	sizes := q.Code().Sizes
	truth := &results.Truth{}
	each := func(record []int, a int, add func(value int, weight float64)) {
		if record[a] != crosscode.None {
			add(record[a], 1)
			return
		}
		for v := range sizes[a] {
			add(v, 1/float64(sizes[a]))
		}
	}
	for a, k := range sizes {
		held := make([]float64, k)
		for _, r := range records {
			each(r, a, func(v int, w float64) { held[v] += w })
		}
		truth.Columns = append(truth.Columns, held)
	}
	for a := range sizes {
		for b := a + 1; b < len(sizes); b++ {
			held := make([]float64, sizes[a]*sizes[b])
			for _, r := range records {
				each(r, a, func(v int, w float64) {
					each(r, b, func(u int, x float64) { held[v*sizes[b]+u] += w * x })
				})
			}
			truth.Pairs = append(truth.Pairs, held)
		}
	}
	return truth, nil
}
