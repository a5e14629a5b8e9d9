// Package esa measures what ESA (Encode, Shuffle, Analyze revisited) measured: counts of populations, by plans of
// histogram questions and beside baselines. Used by lab/cmd/confetti-lab/experiment and lab/papers.
package esa

import (
	"time"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/simulate"
)

// discoveryRate is of the heavy hitters.
const discoveryRate = 0.05

// Run measures a cell on a population. progress is told of finished runs.
func Run(c experiments.Cell, p *dataset.Population, progress simulate.Progress) (experiments.Result, error) {
	res, _, err := measured(c, p, progress)
	return res, err
}

// measured is Run, with the estimates of the first run.
func measured(c experiments.Cell, p *dataset.Population, progress simulate.Progress) (experiments.Result, []estimate.Value, error) {
	const forNoise = 0xe5a
	start := time.Now()
	if err := c.Validate(); err != nil {
		return experiments.Result{}, nil, err
	}
	n := p.Respondents()
	d, err := asked{c.Histogram, c.Seed}.design(n, len(p.Holders))
	if err != nil {
		return experiments.Result{}, nil, err
	}
	res := experiments.Result{
		Dataset: p.Name, Synthetic: p.Synthetic, Data: p.Checksum, Respondents: n, Users: n, Runs: c.Runs, Seed: c.Seed,
		Plan: d.plan, Sigma: d.sigma, Promised: d.promised, CountErrors: &measure.CountErrors{Cells: len(p.Holders)},
	}
	var first []estimate.Value
	errors, ofRuns := measure.Errors{Most: p.Most}, []float64{}
	for run := range c.Runs {
		progress("runs", run, c.Runs)
		got, err := d.draw(seeded.New(c.Seed, forNoise, uint64(run)), p.Holders)
		if err != nil {
			return res, nil, err
		}
		rmse, _ := errors.Add(got.values, func(i int) int { return p.Holders[i] })
		ofRuns = append(ofRuns, rmse)
		if got.table != nil && max(c.Histogram.Fragments, got.rounds) <= 1 && p.Columns == 0 {
			if hitters, ok := got.table.HeavyHitters(discoveryRate); ok {
				res.Discoveries = with(res.Discoveries, found(p.Holders, hitters), run)
			}
		}
		if run == 0 {
			first, res.Top = got.values, got.top(p)
		}
	}
	progress("runs", c.Runs, c.Runs)
	errors.Into(res.CountErrors, res.Survey)
	_, res.RMSEStd = experiments.MeanStd(ofRuns)
	res.Seconds = time.Since(start).Seconds()
	return res, first, nil
}

// found compares the heavy hitters with the truth.
func found(holders, hitters []int) measure.Found {
	f := measure.Found{Cells: float64(len(hitters))}
	if len(hitters) == 0 {
		return f
	}
	top := map[int]bool{}
	for _, cell := range measure.Largest(len(holders), 100, func(i int) float64 { return float64(holders[i]) }) {
		top[cell] = holders[cell] > 0
	}
	for _, cell := range hitters {
		if holders[cell] == 0 {
			f.False += 1 / f.Cells
		}
		if top[cell] {
			f.Top100++
		}
	}
	return f
}

// with returns the mean of f over so many earlier runs and of one more.
func with(f *measure.Found, more measure.Found, runs int) *measure.Found {
	if f == nil {
		return &more
	}
	mean := func(a, b float64) float64 { return a + (b-a)/float64(runs+1) }
	return &measure.Found{Cells: mean(f.Cells, more.Cells), False: mean(f.False, more.False), Top100: mean(f.Top100, more.Top100)}
}
