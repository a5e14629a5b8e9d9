package distribution

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/experiment"
)

// drawExperiment draws every bit of every device, or sums vectors and draws the aggregators' noise.
func drawExperiment(p plan.Plan, q *experiment.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forInstances, forBits = 0, 1
	values, ok := who.(Values)
	if !ok {
		return nil, stranger(p, who)
	}
	records, err := tested(values)
	if err != nil {
		return nil, err
	}
	var unfit unfits
	fits := make([]bool, len(records))
	for i, r := range records {
		bad := q.Unfit(r)
		unfit.add(i, bad)
		fits[i] = bad == nil
	}
	counted, smallest := dealt(stream(forInstances), p, len(values))
	crowds := make([]tally.Crowd, 1)
	switch {
	case len(counted) == 0:
	case q.Rows() != nil:
		counts := q.Rows().DrawAll(len(counted), func(i int, v []float32) {
			clear(v)
			if at := counted[i]; fits[at] {
				q.Write(records[at], v)
			}
		}, func(part int) *rand.Rand { return stream(forBits, uint64(part)) }, progress)
		t := q.NewTally().(*tally.Counts)
		counts.AddTo(t)
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	default:
		route, err := sum.New(p)
		if err != nil {
			return nil, err
		}
		sums, vector := make([]int64, route.Length()), make([]uint64, route.Length())
		for _, at := range counted {
			if !fits[at] {
				continue
			}
			clear(vector)
			lift.Whole(*p.Question.Experiment, records[at].Arm, records[at].Numbers, vector)
			for i, x := range vector {
				sums[i] += int64(x)
			}
		}
		for aggregator := range uint64(2) {
			for i, z := range route.Noise(stream(ForNoise, 0, aggregator)) {
				sums[i] += z
			}
		}
		t, err := q.Sums(sums, len(counted))
		if err != nil {
			return nil, err
		}
		crowds[0] = tally.Crowd{Tally: t, Respondents: len(counted), Smallest: smallest}
	}
	progress(len(values))
	return crowds, unfit.err()
}

// tested returns the records of an experiment.
func tested(values Values) ([]experiment.Record, error) {
	records := make([]experiment.Record, len(values))
	for i, v := range values {
		r, ok := v.(experiment.Record)
		if !ok {
			return nil, fmt.Errorf("value %d is no record of an experiment", i+1)
		}
		records[i] = r
	}
	return records, nil
}

// revealExperiment averages the metrics themselves, uncut, by arm.
func revealExperiment(q *experiment.Question, values Values) (*results.Truth, error) {
	records, err := tested(values)
	if err != nil {
		return nil, err
	}
	return &results.Truth{Arms: q.Averages(records)}, nil
}
