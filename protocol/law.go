package protocol

import (
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/rng"
)

// Stream gives the randomness of one part of a simulated population. Parts are
// drawn from independently, so that a seed gives the same whatever the
// processors.
type Stream func(part ...uint64) *rand.Rand

// Draw samples the crowds that a whole population would give, each total from
// its exact law given the respondents' rounded bits, without a message being
// made. A crowd's respondents in one instance are left out where they are fewer than
// the plan's minimum, as the shuffler would withhold them, and withheld
// where that leaves nobody. With an *UnfitError the crowds are there too, of devices
// that do what the plan says with such values. Only simulations have a use for it: it
// sees every value.
func (p *Protocol) Draw(values []Value, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	return p.question.draw(values, stream, progress)
}

func (d *density) draw(values []Value, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forLabels, forBits, forTotals, forInstances, forReference = 0, 1, 2, 3, 4
	labels, instances := stream(forLabels), stream(forInstances)
	type batch [][]float32                      // the values of a crowd's respondents in one instance; nil for the reference
	byCrowd := make([][]batch, d.plan.Crowds()) // by instance
	for c := range byCrowd {
		byCrowd[c] = make([]batch, len(d.plan.Route.Mix.Instances))
	}
	var unfit unfits
	for i, v := range values {
		l, err := labelled(v)
		if err != nil {
			return nil, err
		}
		l, bad := d.standIn(l)
		unfit.add(i, bad)
		b := &byCrowd[d.reportedClass(labels, l.Class)][instances.IntN(len(d.plan.Route.Mix.Instances))]
		*b = append(*b, l.Features)
	}
	crowds := make([]tally.Crowd, len(byCrowd))
	before := 0
	for c, batches := range byCrowd {
		var rows batch
		smallest := 0
		for _, b := range batches {
			if len(b) < d.plan.Crowd.Minimum {
				before += len(b)
				continue
			}
			b = counting(instances, d.plan, b)
			if smallest == 0 || len(b) < smallest {
				smallest = len(b)
			}
			rows = append(rows, b...)
		}
		if len(rows) == 0 {
			continue
		}
		respondents := len(rows)
		rows = slices.DeleteFunc(rows, func(x []float32) bool { return x == nil })
		ones, err := kde.SumBits(d.features, len(rows), func(i int) []float32 { return rows[i] },
			func(part int) *rand.Rand { return stream(forBits, uint64(c), uint64(part)) },
			func(done int) { progress(before + done) })
		if err != nil {
			return nil, err
		}
		t := tally.NewCounts(d.features.Channels(), 2)
		r, fair := stream(forTotals, uint64(c)), stream(forReference, uint64(c))
		for channel, k := range ones {
			k += rng.Binomial(fair, respondents-len(rows), rng.Prob(0.5))
			n := d.bits.DrawCounts(r, k, respondents)
			copy(t.Channel(channel), n[:])
		}
		crowds[c] = tally.Crowd{Tally: t, Respondents: respondents, Smallest: smallest}
		before += respondents
	}
	progress(len(values))
	return crowds, unfit.err()
}
