package law

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/noise"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/histogram"
)

func drawHistogram(p plan.Plan, h *histogram.Question, values []question.Value, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forCounts, forInstances, forDeletion, forAnswers = 0, 1, 2, 3
	var unfit unfits
	batches, err := batches(p, h, values, stream(forInstances), &unfit)
	if err != nil {
		return nil, err
	}
	crowds := make([]tally.Crowd, len(batches))
	done := 0
	deletion := stream(forDeletion)
	for crowd, instances := range batches {
		var counted [][][]uint32 // by respondent and attribute
		smallest := 0
		for _, batch := range instances {
			done += len(batch)
			batch = counting(deletion, p, deleted(p, deletion, batch))
			if len(batch) < p.Crowd.Minimum {
				continue
			}
			if smallest == 0 || len(batch) < smallest {
				smallest = len(batch)
			}
			counted = append(counted, batch...)
		}
		if len(counted) == 0 {
			continue
		}
		t := h.NewTally().(*tally.Counts)
		for i, held := range byAttribute(h, counted, stream(forAnswers, uint64(crowd))) {
			draw(stream(forCounts, uint64(crowd), uint64(i)), h.Law(i), held, h.Of(t.N, i))
		}
		// Where fragments are spread, the one list stands for every instance.
		crowds[crowd] = tally.Crowd{Tally: t, Respondents: len(counted) * p.Contributions(), Smallest: smallest}
		progress(done)
	}
	progress(len(values))
	return crowds, unfit.err()
}

// batches are the cells that the respondents hold by crowd, and by the instance that
// each draws; by one alone where every respondent contributes to all.
func batches(p plan.Plan, h *histogram.Question, values []question.Value, r *rand.Rand, unfit *unfits) ([][][][][]uint32, error) {
	instances := len(p.Route.Mix.Instances)
	if p.Route.Mix.Spread == plan.SpreadAll {
		instances = 1
	}
	all := make([][][][][]uint32, p.Crowds())
	for c := range all {
		all[c] = make([][][][]uint32, instances)
	}
	for i, v := range values {
		symbol, err := h.Encode(v)
		bad, err := question.Fits(err)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
		unfit.add(i, bad)
		crowd, held := histogram.Held(symbol)
		b := &all[crowd][r.IntN(instances)]
		*b = append(*b, held)
	}
	return all, nil
}

// deleted is what randomized deletion leaves of a batch (ESA, Algorithm 3).
func deleted(p plan.Plan, r *rand.Rand, batch [][][]uint32) [][][]uint32 {
	d := p.Crowd.Deletion
	if d == nil {
		return batch
	}
	left := max(0, len(batch)+noise.DiscreteLaplace{Decay: d.Noise}.Sample(r)-d.Threshold)
	if left > len(batch) {
		return nil
	}
	for i := range left { // a uniform choice
		j := i + r.IntN(len(batch)-i)
		batch[i], batch[j] = batch[j], batch[i]
	}
	return batch[:left]
}

// draw adds the counts of respondents, each with the cells that it holds, in all their
// contributions.
func draw(r *rand.Rand, law histogram.Law, held [][]uint32, out []uint64) {
	rows, k := law.Rows()
	holders, respondents := make([]int, rows*k), make([]int, rows)
	for _, cells := range held {
		row, cells := law.Place(r, cells)
		respondents[row]++
		for _, cell := range cells {
			holders[row*k+int(cell)]++
		}
	}
	channels := len(out) / rows
	counts := make([]uint64, channels)
	for row, n := range respondents {
		law.DrawCounts(r, holders[row*k:(row+1)*k], n, counts)
		for i, c := range counts {
			out[row*channels+i] += c
		}
	}
}

// byAttribute lists what those who answer each attribute hold there.
func byAttribute(h *histogram.Question, respondents [][][]uint32, r *rand.Rand) [][][]uint32 {
	held := make([][][]uint32, h.Attributes())
	for _, answers := range respondents {
		for _, i := range h.Answered(r) {
			held[i] = append(held[i], answers[i])
		}
	}
	return held
}
