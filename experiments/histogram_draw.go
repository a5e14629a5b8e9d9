package experiments

import (
	"math/rand/v2"

	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/dp/sketch"
	"github.com/confetti-dp/confetti/internal/dataset"
)

// oneHot draws the counts of one-hot reports. Reports that a device repeats are
// those of as many devices that hold the same.
func oneHot(m reports, repeats, n int) func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
	return func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
		counts, out := make([]uint64, len(holders)), make([]estimate.Value, len(holders))
		reporting := times(holders, repeats)
		if m.Tau == 1 {
			m.Fragment.DrawCounts(r, reporting, repeats*n, counts)
			m.Fragment.EstimateAll(counts, repeats*n, out)
		} else {
			m.DrawCounts(r, reporting, repeats*n, counts)
			m.EstimateAll(counts, repeats*n, m.Tau, out)
		}
		return each(out, repeats), counts
	}
}

// sketcher is a sketch of either kind.
type sketcher interface {
	Channels() int
	RowUsers(n int, delta float64) int
	DrawCounts(r *rand.Rand, m randomize.OneHot, holders []int, out []uint64) int
	DrawFragments(r *rand.Rand, m randomize.Fragmented, holders []int, out []uint64) int
	Estimate(counts []uint64, n int, a sketch.Answer, candidates []uint32) []estimate.Value
}

// sketched draws the counts of a sketch whose rows are answered by one-hot
// reports. Each report of a device that repeats itself draws a row of its own.
func sketched(s sketcher, m reports, repeats, n int) func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
	return func(r *rand.Rand, holders []int) ([]estimate.Value, []uint64) {
		counts, candidates := make([]uint64, s.Channels()), make([]uint32, len(holders))
		for i := range candidates {
			candidates[i] = uint32(i)
		}
		var answer sketch.Answer
		if m.Tau == 1 {
			answer = sketch.OneHot(m.Fragment)
			s.DrawCounts(r, m.Fragment, times(holders, repeats), counts)
		} else {
			answer = sketch.Fragments(m.Fragmented, m.Tau)
			s.DrawFragments(r, m.Fragmented, holders, counts)
		}
		return each(s.Estimate(counts, repeats*n, answer, candidates), repeats), nil
	}
}

func times(holders []int, repeats int) []int {
	if repeats == 1 {
		return holders
	}
	out := make([]int, len(holders))
	for i, f := range holders {
		out[i] = repeats * f
	}
	return out
}

// each is the estimates of what every respondent said so often, once.
func each(values []estimate.Value, repeats int) []estimate.Value {
	if repeats > 1 {
		for i := range values {
			values[i] = values[i].Scale(1 / float64(repeats))
		}
	}
	return values
}

// top lists the largest estimates. Intervals are exact where the law of a count is
// known, else those of the normal law.
func (d histogramDesign) top(p *dataset.Population, values []estimate.Value, counts []uint64) []TopCell {
	var out []TopCell
	level := estimate.Joint(intervalLevel, len(values))
	for _, i := range largest(len(values), topCells, func(i int) float64 { return values[i].Mean }) {
		c := TopCell{Value: p.CellName(i), Estimate: values[i].Mean, Truth: float64(p.Holders[i])}
		if d.cell != nil {
			c.Low, c.High = d.cell.Interval(counts[i], level)
		} else {
			c.Low, c.High = values[i].Interval(level)
		}
		out = append(out, c)
	}
	return out
}
