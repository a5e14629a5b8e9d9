package sgd

import (
	"fmt"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/simulate"
)

// Kind is what measurements of models that learn in rounds have in common.
var Kind = &experiments.Kind{
	Takes: func(set string) (takes, folder bool) {
		takes = slices.Contains(pictures, set)
		return takes, takes
	},
	Choices: pictures,
	Bench: func(d experiments.Data) experiments.Bench {
		return &bench{load: d.Set, keep: d.Out, tell: d.Progress()}
	},
}

var pictures = []string{"mnist", "fashion-mnist", cifar}

// bench measures studies, and holds the last population.
type bench struct {
	load   func(name string) (*dataset.Set, error)
	keep   string // a folder for what takes minutes
	tell   simulate.Progress
	shared string
	last   population
}

// Shared names the population of a cell.
func (b *bench) Shared(c experiments.Cell) string {
	return fmt.Sprintf("%s %s %d %t", c.Dataset, c.Gradient.Architecture, c.Gradient.Directions, c.Gradient.HeldBack)
}

func (b *bench) Measure(c experiments.Cell) (experiments.Measured, error) {
	start, m := time.Now(), experiments.Measured{Cell: c}
	p, err := b.population(c)
	if err != nil {
		return m, err
	}
	var runs []Result
	for run := range c.Runs {
		s, err := newStudy(Cell{Dataset: c.Dataset, Gradient: c.Gradient, Seed: c.Seed + uint64(run)}.complete(), p)
		if err != nil {
			m.Reason = err.Error()
			return m, nil
		}
		r, err := s.run(b.tell)
		if err != nil {
			return m, err
		}
		runs = append(runs, r)
	}
	m.Result = mean(c, runs)
	m.Result.Data = p.checksum
	m.Result.Seconds = time.Since(start).Seconds()
	return m, nil
}

// population returns that of the cell, unless it is that of the cell before.
func (b *bench) population(c experiments.Cell) (population, error) {
	if b.shared == b.Shared(c) {
		return b.last, nil
	}
	b.shared, b.last = "", population{} // let go of the memory before more is taken
	set, err := b.load(c.Dataset)
	if err != nil {
		return b.last, err
	}
	p, err := prepare(Cell{Gradient: c.Gradient}, set, b.keep, b.tell)
	if err == nil {
		b.shared, b.last = b.Shared(c), p
	}
	return p, err
}

// mean returns what runs of a cell gave.
func mean(c experiments.Cell, runs []Result) *experiments.Result {
	first := runs[0]
	t := &experiments.Trained{
		Curve: slices.Clone(first.Curve), PaperEpsilon: first.Paper, PrintedOrder: first.Printed, Answers: first.Answers, Parameters: first.Learned,
	}
	over := func(of func(r Result) float64) (mean, std float64) {
		var all []float64
		for _, r := range runs {
			all = append(all, of(r))
		}
		return experiments.MeanStd(all)
	}
	t.Accuracy, t.AccuracyStd = over(func(r Result) float64 { return r.Accuracy })
	t.Advantage, t.AdvantageStd = over(func(r Result) float64 { return r.Advantage })
	t.NoiseRatio, _ = over(func(r Result) float64 { return r.NoiseRatio })
	t.LowerEpsilon, _ = over(func(r Result) float64 { return r.Lower })
	for i := range t.Curve {
		t.Curve[i].Accuracy, _ = over(func(r Result) float64 { return r.Curve[i].Accuracy })
	}
	return &experiments.Result{
		Dataset: c.Dataset, Respondents: first.Respondents, Users: first.Users, Runs: c.Runs, Seed: c.Seed, Plan: first.Plan, Trained: t,
		Promised: measure.Promised{
			Epsilon: first.Epsilon, EpsilonLocal: first.LocalTotal, Delta: c.Gradient.Delta, Adjacency: first.Adjacency, Trust: string(first.Trust), Method: first.Method,
			EnvelopesPerDevice: first.Envelopes * first.Answers,
		},
	}
}
