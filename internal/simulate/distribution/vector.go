package distribution

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/vector"
)

// drawVector draws every bit of every device, or every number, and makes no message of it.
func drawVector(p plan.Plan, q *vector.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forBits = 0, 1
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	records := make([]vector.Record, len(values))
	var unfit unfits
	for i, v := range values {
		r, ok := v.(vector.Record)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of a vector question", i+1)
		}
		_, bad := q.StandIn(r)
		unfit.add(i, bad)
		records[i] = r
	}
	counted, smallest := dealt(stream(forInstances), p, len(values))
	crowds := make([]tally.Crowd, 1)
	switch {
	case len(counted) == 0:
	case q.Proved():
		t := q.NewTally().(*tally.Sums)
		if err := inParts(counted, t, func(at int, who []int) (tally.Tally, error) {
			own, v, coins := q.NewTally().(*tally.Sums), make([]float32, q.Coordinates()), stream(forBits, uint64(at))
			for _, i := range who {
				q.Vector(records[i], v)
				_, whole, err := q.Measure(coins, v, nil)
				if err != nil {
					return nil, err
				}
				for k, x := range whole {
					own.N[k] += int64(x)
				}
			}
			return own, nil
		}, progress); err != nil {
			return nil, err
		}
		if err := addNoise(t.N, p, stream); err != nil {
			return nil, err
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	default:
		counts := q.Rows().DrawAll(len(counted), func(i int, v []float32) { q.Vector(records[counted[i]], v) },
			func(part int) *rand.Rand { return stream(forBits, uint64(part)) }, progress)
		t := q.Rows().Spec().NewTally()
		counts.AddTo(t)
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit.err()
}

// addNoise adds that of both aggregators to the sums of a crowd.
func addNoise(sums []int64, p plan.Plan, stream Stream) error {
	route, err := sum.New(p)
	if err != nil {
		return err
	}
	for aggregator := range uint64(2) {
		for i, z := range route.Noise(stream(ForNoise, 0, aggregator)) {
			sums[i] += z
		}
	}
	return nil
}

// revealVector sums the vectors themselves.
func revealVector(q *vector.Question, values Values) (*results.Truth, error) {
	v := make([]float32, q.Coordinates())
	truth := &results.Truth{Sum: make([]float64, len(v))}
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
