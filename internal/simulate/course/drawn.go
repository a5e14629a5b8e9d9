package course

import (
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

// Drawn says by how much running totals, or where values take turns their differences, are off where a study is run many times, and where the same budget asks each
// round afresh, in the better of two ways. Aggregators' own code draws both.
type Drawn struct {
	Times  int     `json:"times"`
	Last   float64 `json:"last"` // root mean square of the last running total's errors, over times and cells
	Sure   float64 `json:"last_deviation"`
	All    float64 `json:"all"` // and of all totals'
	Afresh float64 `json:"afresh"`
	Apart  float64 `json:"afresh_deviation"`

	squares []float64 // of the last totals' errors
}

// draw runs a study's rounds so many times, from what is said to running totals.
func (c Study) draw(study plan.Study, keys simulate.Keys, events [][]int, progress simulate.Progress) (*Drawn, error) {
	of := *study.Plan.Route.Sum.Correlated
	rounds := make([]pair, len(events))
	for i, counts := range events {
		if counts == nil {
			continue
		}
		p, err := study.Round(i+1, "", study.Times)
		if err != nil {
			return nil, err
		}
		if rounds[i], err = newPair(p, keys); err != nil {
			return nil, err
		}
	}
	cells := study.Plan.Question.Histogram.Attributes[0].Domain()
	reader, err := sumprivacy.NewRows(of, cells)
	if err != nil {
		return nil, err
	}
	apart, _, err := histogram.Afresh(study.Plan)
	if err != nil {
		return nil, err
	}
	if apart, err = protocol.Routed(apart); err != nil {
		return nil, err
	}
	alone, err := newPair(apart, keys)
	if err != nil {
		return nil, err
	}
	out := &Drawn{Times: c.Repetitions}
	var last, all, afresh []float64 // squares
	for time := range uint64(c.Repetitions) {
		progress("times", int(time)+1, c.Repetitions)
		noise := func(round int, kind uint64) func(side uint64) *rand.Rand {
			return func(side uint64) *rand.Rand {
				return seeded.New(c.Seed, distribution.ForNoise, uint64(round), side, kind, time)
			}
		}
		var kept [2][]aggregator.Day
		var days []int
		counts, ends := make([][]float64, cells), make([]float64, cells)
		numbers := ends // that are compared
		if of.Turns {
			numbers = make([]float64, 1)
		}
		for i, said := range events {
			if said == nil {
				continue
			}
			row, err := rounds[i].row(said, c.People, &kept, noise(i, 1))
			if err != nil {
				return nil, err
			}
			for cell := range ends {
				n := reader.Count(i, float64(row[cell]), days, counts[cell])
				counts[cell] = append(counts[cell], n)
				ends[cell] += n - float64(said[cell])
			}
			if of.Turns {
				numbers[0] = ends[0] - ends[1]
			}
			for _, off := range numbers {
				all = append(all, off*off)
			}
			days = append(days, i)
		}
		// Asked afresh how often so far, a total has the error of one answer that may be as much as all events; asked what
		// happened, those of all rounds.
		times, most := len(events), 1
		if of.Turns { // of whom it has begun and not ended is asked each time
			times = 1
		} else if of.Events*of.Events <= times {
			times, most = 1, of.Events
		}
		off := make([]float64, len(numbers))
		for i := range times {
			row, err := alone.row(make([]int, apart.Route.Sum.Circuit.Length), c.People, nil, noise(i, 2))
			if err != nil {
				return nil, err
			}
			for cell := range off {
				off[cell] += float64(row[cell])
			}
		}
		for i, end := range numbers {
			off[i] *= float64(most)
			last, afresh = append(last, end*end), append(afresh, off[i]*off[i])
		}
	}
	out.squares = last
	out.Last, out.Sure = root(last)
	out.All, _ = root(all)
	out.Afresh, out.Apart = root(afresh)
	return out, nil
}

// root returns the root of a mean of squares, and its own deviation.
func root(squares []float64) (of, deviation float64) {
	mean, n := 0.0, float64(len(squares))
	for _, x := range squares {
		mean += x / n
	}
	variance := 0.0
	for _, x := range squares {
		variance += (x - mean) * (x - mean) / max(1, n-1)
	}
	of = math.Sqrt(mean)
	return of, math.Sqrt(variance/n) / (2 * max(of, math.SmallestNonzeroFloat64))
}
