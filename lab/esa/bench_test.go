package esa_test

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dp/sketch"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/lab/esa"
	"github.com/confetti-dp/confetti/lab/experiments"
)

const (
	sketchHashes = 1024
	sketchWidth  = 65_536
)

func BenchmarkHeavyHitters(b *testing.B) {
	for name, start := range map[string]func(*testing.B) func(){"law": histogramLaw, "sketch": histogramSketch} {
		b.Run(name, func(b *testing.B) {
			run := start(b)
			for b.Loop() {
				run()
			}
		})
	}
}

// heavyHitters is that population of ESA, Table II, in its size.
func heavyHitters(b *testing.B) *dataset.Population {
	population, err := esa.Population("heavy-hitters", 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	return population
}

// histogramLaw is a cell of ESA's Table I, 204 million reports of 1.78 million values:
// calibration, the counts' law, estimates, errors, heavy hitters.
func histogramLaw(b *testing.B) func() {
	population := heavyHitters(b)
	cell := experiments.Cell{Seed: 1, Runs: 1, Histogram: experiments.Histogram{
		Encoding: experiments.OneHot, Accounting: calibrate.Exact, Adjacency: account.Removal, Epsilon: 1, Delta: 5e-10,
	}}
	return func() {
		if _, err := esa.Run(cell, population, func(string, int, int) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// histogramSketch estimates these 1.78 million values, with standard errors, from the
// counts of a sketch.
func histogramSketch(b *testing.B) func() {
	population := heavyHitters(b)
	s, err := sketch.NewCountMean(sketchHashes, sketchWidth, [32]byte{1})
	if err != nil {
		b.Fatal(err)
	}
	m := randomize.Symmetric(sketchWidth, 13, account.Removal)
	counts, candidates := make([]uint64, s.Channels()), make([]uint32, len(population.Holders))
	drawn, r, inRow, held := 0, seeded.New(3), make([]int, s.Rows()), make([]int, s.Channels())
	for value, f := range population.Holders {
		drawn += f
		s.DrawRows(r, f, func(row, devices int) {
			inRow[row] += devices
			held[s.Channel(row, s.Cell(row, uint32(value)))] += devices
		})
	}
	for row, devices := range inRow {
		at := row * s.Cells()
		m.DrawCounts(r, held[at:at+s.Cells()], devices, counts[at:at+s.Cells()])
	}
	for i := range candidates {
		candidates[i] = uint32(i)
	}
	return func() { s.Estimate(counts, drawn, sketch.OneHot(m), candidates) }
}
