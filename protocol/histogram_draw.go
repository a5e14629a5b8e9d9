package protocol

import (
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/noise"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
)

func (h *histogram) draw(values []Value, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forCounts, forInstances, forDeletion, forAnswers = 0, 1, 2, 3
	var unfit unfits
	batches, err := h.batches(values, stream(forInstances), &unfit)
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
			batch = counting(deletion, h.plan, h.deleted(deletion, batch))
			if len(batch) < h.plan.Crowd.Minimum {
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
		t := tally.NewCounts(h.channels, 1)
		for i, held := range h.byAttribute(counted, stream(forAnswers, uint64(crowd))) {
			h.tables[i].draw(stream(forCounts, uint64(crowd), uint64(i)), held, h.of(t.N, i))
		}
		// Where fragments are spread, the one list stands for every instance.
		crowds[crowd] = tally.Crowd{Tally: t, Respondents: len(counted) * h.plan.Contributions(), Smallest: smallest}
		progress(done)
	}
	progress(len(values))
	return crowds, unfit.err()
}

// batches are the cells that the respondents hold by crowd, and by the instance that
// each draws; by one alone where every respondent contributes to all.
func (h *histogram) batches(values []Value, r *rand.Rand, unfit *unfits) ([][][][][]uint32, error) {
	instances := len(h.plan.Route.Mix.Instances)
	if h.plan.Route.Mix.Spread == plan.SpreadAll {
		instances = 1
	}
	all := make([][][][][]uint32, h.plan.Crowds())
	for c := range all {
		all[c] = make([][][][]uint32, instances)
	}
	for i, v := range values {
		symbol, err := h.encode(v)
		bad, err := fits(err)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i+1, err)
		}
		unfit.add(i, bad)
		s := symbol.(cellsHeld)
		b := &all[s.crowd][r.IntN(instances)]
		*b = append(*b, s.held)
	}
	return all, nil
}

// deleted is what randomized deletion leaves of a batch (ESA, Algorithm 3).
func (h *histogram) deleted(r *rand.Rand, batch [][][]uint32) [][][]uint32 {
	d := h.plan.Crowd.Deletion
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

// byAttribute lists what those who answer each attribute hold there.
func (h *histogram) byAttribute(respondents [][][]uint32, r *rand.Rand) [][][]uint32 {
	held := make([][][]uint32, len(h.tables))
	for _, answers := range respondents {
		for _, i := range h.answered(r) {
			held[i] = append(held[i], answers[i])
		}
	}
	return held
}
