package experiments

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/dp/encode"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/dp/kde"
	"github.com/confetti-dp/confetti/dp/randomize"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/replay"
	"github.com/confetti-dp/confetti/learn/hdc"
	"github.com/confetti-dp/confetti/simulate"
)

// population is what cells share that differ only in bitsum, accounting and
// budget: in one run, the features, the reported labels, and the number of
// rounded ones in each channel. Noise is drawn on top of it, so that a figure's
// forty cells cost little more than one.
type population struct {
	cell     Cell // any of those that share it
	run      uint64
	records  *records
	features *encode.Features
	label    randomize.KRR
	groups   [][]int // rows by reported class
	ones     [][]int // by reported class and channel; nil until asked for
	exact    [][]float64
	progress simulate.Progress
}

// shared names the population of a cell.
func (c Cell) shared() Cell {
	c.Bitsum, c.Accounting, c.Epsilon, c.Delta = "", "", 0, 0
	c.Queries, c.Words, c.CostOnly, c.NearestMean = 0, 0, false, false
	return c
}

func newPopulation(c Cell, run uint64, rec *records, progress simulate.Progress) (*population, error) {
	const forSeed, forLabels = 0, 1
	spec := c.kde().spec(rec.Dimension())
	seed := replay.New(c.Seed, run, forSeed)
	for i := range spec.Seed {
		spec.Seed[i] = byte(seed.Uint32())
	}
	features, err := encode.New(spec)
	if err != nil {
		return nil, &refused{err}
	}
	p := &population{cell: c, run: run, records: rec, progress: progress, features: features, label: randomize.KRR{K: len(rec.Classes), Epsilon: c.LabelEpsilon}}
	reported := rec.Train.Y
	if c.LabelEpsilon > 0 {
		r := replay.New(c.Seed, run, forLabels)
		reported = make([]int, len(rec.Train.Y))
		for i, y := range rec.Train.Y {
			reported[i] = p.label.Randomize(r, y)
		}
	}
	p.groups = group(reported, len(rec.Classes))
	for c, g := range p.groups {
		if len(g) == 0 {
			return nil, fmt.Errorf("class %q has no records: every class needs some", rec.Classes[c])
		}
	}
	return p, nil
}

// users is the smallest reported class.
func (p *population) users() int {
	n := p.records.Train.Len()
	for _, g := range p.groups {
		n = min(n, len(g))
	}
	return n
}

// sums counts the ones of each group in each channel.
func (p *population) sums(groups [][]int, stream uint64) ([][]int, error) {
	ones := make([][]int, len(groups))
	done := 0
	for c, g := range groups {
		var err error
		ones[c], err = kde.SumBits(p.features, len(g), func(i int) []float32 { return p.records.row(g[i]) },
			func(part int) *rand.Rand { return replay.New(p.cell.Seed, p.run, stream, uint64(c), uint64(part)) },
			func(n int) {
				p.progress(fmt.Sprintf("run %d of %d", p.run+1, p.cell.Runs), done+n, p.records.Train.Len())
			})
		if err != nil {
			return nil, fmt.Errorf("class %q: %w", p.records.Classes[c], err)
		}
		done += len(g)
	}
	return ones, nil
}

// densities are those of the reported classes, noise included.
func (p *population) densities(m mechanism) ([]kde.Density, error) {
	const forBits, forTotals = 2, 4
	if p.ones == nil {
		var err error
		if p.ones, err = p.sums(p.groups, forBits); err != nil {
			return nil, err
		}
	}
	private := make([]kde.Density, len(p.groups))
	for c, g := range p.groups {
		r := replay.New(p.cell.Seed, p.run, forTotals, uint64(c))
		private[c] = densityOf(p.features, len(g), func(channel int) estimate.Value { return m.estimate(r, p.ones[c][channel], len(g)) })
	}
	return private, nil
}

// noPrivacy is the accuracy from true labels and exact sums of the rounded bits,
// and that of the nearest mean if asked for.
func (p *population) noPrivacy(nearestToo bool) (highest, nearest float64, err error) {
	const forBits, forTruth = 2, 3
	groups, ones := p.groups, p.ones
	switch {
	case p.cell.LabelEpsilon > 0:
		groups = group(p.records.Train.Y, len(p.records.Classes))
		ones, err = p.sums(groups, forTruth)
	case ones == nil:
		p.ones, err = p.sums(groups, forBits)
		ones = p.ones
	}
	if err != nil {
		return 0, 0, err
	}
	open := make([]kde.Density, len(groups))
	for c, g := range groups {
		open[c] = densityOf(p.features, len(g), func(channel int) estimate.Value { return estimate.Exact(float64(ones[c][channel])) })
	}
	model, err := hdc.New(p.records.Classes, open)
	if err != nil {
		return 0, 0, err
	}
	if highest, err = accuracy(model, p.records.Test); err == nil && nearestToo {
		nearest, err = nearestMean(model, p.records.Test)
	}
	return highest, nearest, err
}

func nearestMean(m *hdc.Model, test dataset.Labelled) (float64, error) {
	near, err := m.NearestMean()
	if err != nil {
		return 0, err
	}
	return accuracy(near, test)
}

// squaredError is the mean square of the densities' errors at the first test records.
func (p *population) squaredError(densities []kde.Density, queries int) (float64, error) {
	at := p.records.Test.Head(queries).X
	if p.exact == nil {
		p.exact = make([][]float64, len(p.groups))
		for c, g := range p.groups {
			x := blas32.General{Rows: len(g), Cols: at.Cols, Stride: at.Cols, Data: make([]float32, len(g)*at.Cols)}
			for i, from := range g {
				copy(row(x, i), p.records.row(from))
			}
			p.exact[c] = p.cell.kde().exact(x, at)
		}
	}
	sum := 0.0
	for c, d := range densities {
		got, err := d.QueryAll(at)
		if err != nil {
			return 0, err
		}
		for i, v := range got {
			sum += (v.Mean - p.exact[c][i]) * (v.Mean - p.exact[c][i])
		}
	}
	return sum / float64(at.Rows*len(densities)), nil
}
