package distribution

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/noise"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Holders is a population by the number of respondents who hold each cell of one attribute,
// each holding one: hundreds of millions of them need not be listed.
type Holders []int

// Respondents returns their number.
func (h Holders) Respondents() int {
	n := 0
	for _, f := range h {
		n += f
	}
	return n
}

func drawHistogram(p plan.Plan, h *histogram.Question, who Population, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	switch who := who.(type) {
	case Holders:
		return drawHolders(p, h, who, stream)
	case Alike:
		return drawAlike(p, h, who, stream)
	case Values:
		return drawValues(p, h, who, stream, progress)
	}
	return nil, stranger(p, who)
}

// drawHolders is for plans whose counts depend on numbers of holders only.
func drawHolders(p plan.Plan, h *histogram.Question, holders Holders, stream Stream) ([]tally.Crowd, error) {
	asked, n := p.Question.Histogram.Attributes, holders.Respondents()
	switch {
	case len(asked) != 1 || p.Crowds() > 1:
		return nil, errors.New("distribution: numbers of holders are of one attribute of everybody: list the respondents (Values)")
	case p.Crowd.Deletion != nil || p.Crowd.Maximum != 0 && n > p.Crowd.Maximum || len(p.Route.Ways()) != 1:
		return nil, errors.New("distribution: with numbers of holders everybody counts, in one instance: list the respondents (Values)")
	case asked[0].Domain() != len(holders):
		return nil, fmt.Errorf("distribution: holders of %d cells, and the plan asks for %d", len(holders), asked[0].Domain())
	case n > math.MaxInt32:
		return nil, fmt.Errorf("distribution: %d respondents: at most 2^31-1", n)
	case n < p.Crowd.Minimum:
		return make([]tally.Crowd, 1), nil
	}
	t := countsOf(h)
	cell := make([]uint32, 1)
	draw(stream(), h.Law(0), func(yield func([]uint32, int) bool) {
		for i, f := range holders {
			if cell[0] = uint32(i); f > 0 && !yield(cell, f) {
				return
			}
		}
	}, t.N)
	whole, err := added(p, h, t, n, stream, 0)
	return []tally.Crowd{{Tally: whole, Respondents: n, Smallest: n}}, err
}

// countsOf has a count for each channel.
func countsOf(h *histogram.Question) *tally.Counts {
	if s, noised := h.NewTally().(*tally.Sums); noised {
		return tally.NewCounts(len(s.N), 1)
	}
	return h.NewTally().(*tally.Counts)
}

// ForNoise is the first stream of a seed that aggregators draw from, above those of devices,
// and in a simulation by law all devices.
const ForNoise = 1 << 40

// added returns what is read of the counts of a crowd, with the noise of both aggregators, or of
// all devices, where cells go as they are.
func added(p plan.Plan, h *histogram.Question, t *tally.Counts, respondents int, stream Stream, crowd uint64) (tally.Tally, error) {
	if !histogram.Noised(p) {
		return t, nil
	}
	if m, raised, ok := h.Scattered(); ok {
		r, sums := stream(ForNoise, crowd), make([]int64, len(t.N))
		for i, n := range t.N { // but for shares that are cut, which hardly ever are
			sums[i] = int64(m.DrawSum(r, int(n), respondents)) + int64(raised)*int64(respondents)
		}
		return h.Sums(sums, respondents)
	}
	sums := make([]int64, p.Route.Sum.Circuit.Length)
	for i, n := range t.N {
		sums[i] = int64(n)
	}
	if err := noised(p, sums, stream, crowd); err != nil {
		return nil, err
	}
	return h.Sums(sums, respondents)
}

// noised adds the noise of both aggregators to the sums of a crowd.
func noised(p plan.Plan, sums []int64, stream Stream, crowd uint64) error {
	route, err := sum.New(p)
	if err != nil {
		return err
	}
	for aggregator := range uint64(2) {
		for i, z := range route.Noise(stream(ForNoise, crowd, aggregator)) {
			sums[i] += z
		}
	}
	return nil
}

func drawValues(p plan.Plan, h *histogram.Question, values Values, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
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
		t := countsOf(h)
		for i, held := range byAttribute(h, counted, stream(forAnswers, uint64(crowd))) {
			draw(stream(forCounts, uint64(crowd), uint64(i)), h.Law(i), each(held), h.Of(t.N, i))
		}
		whole, err := added(p, h, t, len(counted), stream, uint64(crowd))
		if err != nil {
			return nil, err
		}
		// Where fragments are spread, the one list stands for every instance.
		crowds[crowd] = tally.Crowd{Tally: whole, Respondents: len(counted) * p.Contributions(), Smallest: smallest}
		progress(done)
	}
	progress(len(values))
	return crowds, unfit.err()
}

// batches returns the cells that the respondents hold by crowd, and by the instance that
// each draws; by one alone where every respondent contributes to all.
func batches(p plan.Plan, h *histogram.Question, values Values, r *rand.Rand, unfit *unfits) ([][][][][]uint32, error) {
	instances := len(p.Route.Ways())
	if p.Route.Spreads() {
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

// deleted returns what randomized deletion leaves of a batch (ESA, Algorithm 3).
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

// draw adds the counts of respondents in all their contributions: so many for each list of
// cells that they hold, which holds until the next.
func draw(r *rand.Rand, law histogram.Law, who iter.Seq2[[]uint32, int], out []uint64) {
	rows, k := law.Rows()
	holders, respondents := make([]uint32, rows*k), make([]int, rows)
	for held, n := range who {
		law.Place(r, held, n, func(row int, cells []uint32, n int) {
			respondents[row] += n
			for _, cell := range cells {
				holders[row*k+int(cell)] += uint32(n)
			}
		})
	}
	channels := len(out) / rows
	inRow, counts := make([]int, k), make([]uint64, channels)
	for row, n := range respondents {
		for cell, f := range holders[row*k : (row+1)*k] {
			inRow[cell] = int(f)
		}
		law.DrawCounts(r, inRow, n, counts)
		for i, c := range counts {
			out[row*channels+i] += c
		}
	}
}

// each returns one respondent for each list.
func each(held [][]uint32) iter.Seq2[[]uint32, int] {
	return func(yield func([]uint32, int) bool) {
		for _, cells := range held {
			if !yield(cells, 1) {
				return
			}
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
