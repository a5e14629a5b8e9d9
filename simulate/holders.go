package simulate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/sketch"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// Holders is Law for a population that is given by the number of respondents who hold each
// cell, each holding one: hundreds of millions of them need not be listed. The plan asks
// everybody for one attribute by one-hot, in one instance.
func Holders(p *protocol.Protocol, holders []int, seed uint64) (Collection, error) {
	col := Collection{Crowds: make([]tally.Crowd, 1)}
	for _, h := range holders {
		col.Devices += h
	}
	if err := onlyHolders(p.Plan, len(holders), col.Devices); err != nil {
		return col, err
	}
	if col.Devices < p.Plan.Crowd.Minimum {
		col.Withheld = append(col.Withheld, fmt.Sprintf("%d respondents, fewer than %d", col.Devices, p.Plan.Crowd.Minimum))
		return col, nil
	}
	draw, err := countsOf(*p.Plan.Question.Histogram, len(holders))
	if err != nil {
		return col, err
	}
	t := p.NewTally().(*tally.Counts)
	draw(replay.New(seed), holders, col.Devices, t.N)
	col.Crowds[0] = tally.Crowd{Tally: t, Respondents: col.Devices, Smallest: col.Devices}
	return col, nil
}

// onlyHolders checks that holders are all that the law of the plan's counts depends on.
func onlyHolders(p plan.Plan, cells, devices int) error {
	h := p.Question.Histogram
	switch {
	case h == nil || len(h.Attributes) != 1 || p.Crowds() > 1 || !h.Randomizer.OneHot():
		return errors.New("simulate: numbers of holders are of one attribute of everybody, answered by one-hot: list the respondents (Law)")
	case p.Crowd.Deletion != nil || p.Crowd.Maximum != 0 && devices > p.Crowd.Maximum || len(p.Route.Mix.Instances) != 1:
		return errors.New("simulate: with numbers of holders everybody counts, in one instance: list the respondents (Law)")
	case h.Attributes[0].Domain() != cells:
		return fmt.Errorf("simulate: holders of %d cells, and the plan asks for %d", cells, h.Attributes[0].Domain())
	}
	return nil
}

// countsOf is the law of the counts of a plan's one attribute.
func countsOf(h plan.Histogram, cells int) (func(r *rand.Rand, holders []int, n int, out []uint64), error) {
	if h.Sketch == nil {
		return Fragmented(h.Randomizer, cells).DrawCounts, nil
	}
	var seed [32]byte
	if _, err := hex.Decode(seed[:], []byte(h.Sketch.Seed)); err != nil {
		return nil, err
	}
	if h.Sketch.Name == "count" {
		s, err := sketch.NewCount(h.Sketch.Hashes, h.Sketch.Width, seed)
		if err != nil {
			return nil, err
		}
		m := Fragmented(h.Randomizer, s.Cells())
		return func(r *rand.Rand, holders []int, _ int, out []uint64) { s.DrawFragments(r, m, holders, out) }, nil
	}
	s, err := sketch.NewCountMean(h.Sketch.Hashes, h.Sketch.Width, seed)
	if err != nil {
		return nil, err
	}
	m := Fragmented(h.Randomizer, s.Cells())
	return func(r *rand.Rand, holders []int, _ int, out []uint64) { s.DrawFragments(r, m, holders, out) }, nil
}

// Fragmented is a plan's one-hot randomizer over so many cells. A single fragment has a
// backstop that changes nothing.
func Fragmented(z plan.Randomizer, cells int) randomize.Fragmented {
	m := randomize.Fragmented{Backstop: randomize.OneHot{K: cells, Keep: 1}, Fragment: randomize.OneHot{K: cells, Keep: z.Keep, Flip: z.Flip}, Tau: 1}
	if z.Fragments > 1 {
		m.Backstop.Keep, m.Backstop.Flip, m.Tau = z.BackstopKeep, z.BackstopFlip, z.Fragments
	}
	return m
}
