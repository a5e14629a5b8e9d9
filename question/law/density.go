package law

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/release/findings"
)

func drawDensity(p plan.Plan, d *density.Question, values []question.Value, stream Stream, progress func(done int)) ([]tally.Crowd, error) {
	const forLabels, forBits, forTotals, forInstances, forReference = 0, 1, 2, 3, 4
	labels, instances := stream(forLabels), stream(forInstances)
	type batch [][]float32                 // the values of a crowd's respondents in one instance; nil for the reference
	byCrowd := make([][]batch, p.Crowds()) // by instance
	for c := range byCrowd {
		byCrowd[c] = make([]batch, len(p.Route.Mix.Instances))
	}
	var unfit unfits
	for i, v := range values {
		l, err := density.Labelling(v)
		if err != nil {
			return nil, err
		}
		l, bad := d.StandIn(l)
		unfit.add(i, bad)
		b := &byCrowd[d.ReportedClass(labels, l.Class)][instances.IntN(len(p.Route.Mix.Instances))]
		*b = append(*b, l.Features)
	}
	crowds := make([]tally.Crowd, len(byCrowd))
	before := 0
	for c, batches := range byCrowd {
		var rows batch
		smallest := 0
		for _, b := range batches {
			if len(b) < p.Crowd.Minimum {
				before += len(b)
				continue
			}
			b = counting(instances, p, b)
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
		ones, err := kde.SumBits(d.Features, len(rows), func(i int) []float32 { return rows[i] },
			func(part int) *rand.Rand { return stream(forBits, uint64(c), uint64(part)) },
			func(done int) { progress(before + done) })
		if err != nil {
			return nil, err
		}
		t := tally.NewCounts(d.Features.Channels(), 2)
		r, fair := stream(forTotals, uint64(c)), stream(forReference, uint64(c))
		for channel, k := range ones {
			k += rng.Binomial(fair, respondents-len(rows), rng.Prob(0.5))
			n := d.Bits.DrawCounts(r, k, respondents)
			copy(t.Channel(channel), n[:])
		}
		crowds[c] = tally.Crowd{Tally: t, Respondents: respondents, Smallest: smallest}
		before += respondents
	}
	progress(len(values))
	return crowds, unfit.err()
}

func revealDensity(p plan.Plan, values []question.Value) (*findings.Truth, error) {
	truth := &findings.Truth{Crowds: make([]int, p.Crowds())}
	for i, v := range values {
		l, ok := v.(density.Labelled)
		if !ok || l.Class < 0 || l.Class >= len(truth.Crowds) {
			return nil, fmt.Errorf("value %d is not a labelled vector of one of %d classes", i+1, len(truth.Crowds))
		}
		truth.Crowds[l.Class]++
	}
	return truth, nil
}
