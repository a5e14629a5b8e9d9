package law

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release/findings"
)

// drawVector draws every bit of every device, and makes no message of it.
func drawVector(p plan.Plan, q *vector.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forBits = 0, 1
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	instances := stream(forInstances)
	batches := make([][]vector.Record, len(p.Route.Mix.Instances))
	var unfit unfits
	for i, v := range values {
		r, ok := v.(vector.Record)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of a vector question", i+1)
		}
		_, bad := q.StandIn(r)
		unfit.add(i, bad)
		b := &batches[instances.IntN(len(batches))]
		*b = append(*b, r)
	}
	var counted []vector.Record
	smallest := 0
	for _, b := range batches {
		if len(b) < p.Crowd.Minimum {
			continue
		}
		b = counting(instances, p, b)
		if smallest == 0 || len(b) < smallest {
			smallest = len(b)
		}
		counted = append(counted, b...)
	}
	crowds := make([]tally.Crowd, 1)
	if len(counted) > 0 {
		counts := q.Rows().DrawAll(len(counted), func(i int, v []float32) { q.Vector(counted[i], v) },
			func(part int) *rand.Rand { return stream(forBits, uint64(part)) }, progress)
		t := q.NewTally().(*tally.Counts)
		for row, ones := range counts.Ones {
			t.Channel(row)[0], t.Channel(row)[1] = uint64(counts.Answered[row]-ones), uint64(ones)
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit.err()
}

// revealVector sums the vectors themselves.
func revealVector(q *vector.Question, values Values) (*findings.Truth, error) {
	v := make([]float32, q.Rows().Spec().Dimension)
	truth := &findings.Truth{Sum: make([]float64, len(v))}
	for i, value := range values {
		r, ok := value.(vector.Record)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of a vector question", i+1)
		}
		q.Vector(r, v)
		for k, x := range v {
			truth.Sum[k] += float64(x)
		}
	}
	return truth, nil
}
