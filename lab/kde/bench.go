package kde

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/simulate"
)

// Kind is what measurements of data sets have in common.
var Kind = &experiments.Kind{
	Takes: func(set string) (takes, folder bool) {
		set = base(set)
		folder = slices.Contains(dataset.Names(), set) || slices.Contains(written, set) || Encoded(set)
		return folder || slices.Contains(MadeUp(), set), folder
	},
	Choices: slices.Concat(dataset.Names(), written, sentences, MadeUp()),
	Bench:   func(d experiments.Data) experiments.Bench { return newBench(withTexts(d)) },
}

// bench holds what cells share: one data set, the populations of one kernel on
// it, and the noise of plans, whose calibration takes longer than all else.
type bench struct {
	load        func(name string) (*dataset.Set, error)
	records     *records
	shared      string
	populations []*population
	ways        map[string]struct {
		way way
		err error
	}
	open     map[string][2]float64 // accuracies without privacy, for all levels of label noise
	unproved bool                  // also measure what a formula gives outside its domain
	progress simulate.Progress     // of the records of a population
}

func newBench(load func(string) (*dataset.Set, error)) *bench {
	return &bench{load: load, ways: map[string]struct {
		way way
		err error
	}{}, open: map[string][2]float64{}, progress: func(string, int, int) {}}
}

// refused says why a cell has no result, where that is a finding and not a failure.
type refused struct{ error }

func (r *refused) Unwrap() error { return r.error }

// Shared names the population of a cell.
func (b *bench) Shared(c experiments.Cell) string {
	d := &c.Density
	d.Bitsum, d.Accounting, d.Epsilon, d.Delta, d.LocalEpsilon = "", "", 0, 0, 0
	d.Queries, d.Words, d.NearestMean = 0, 0, false
	return c.Key()
}

func (b *bench) Measure(c experiments.Cell) (experiments.Measured, error) {
	b.unproved = true
	m, err := b.result(c)
	if why, ok := errors.AsType[*refused](err); ok {
		return experiments.Measured{Cell: c, Reason: why.Error()}, nil
	}
	return m, err
}

func (b *bench) result(c experiments.Cell) (experiments.Measured, error) {
	start := time.Now()
	m := experiments.Measured{Cell: c}
	if err := c.Validate(); err != nil {
		return m, &refused{err}
	}
	if err := b.prepare(c); err != nil {
		return m, err
	}
	least, most := math.MaxInt, 0
	for _, p := range b.populations {
		low, high, err := p.sizes()
		if err != nil {
			return m, err
		}
		least, most = min(least, low), max(most, high)
	}
	w, err := b.way(c, least, most)
	if err != nil {
		return m, err
	}
	set := b.records
	m.Unproved = w.unproved
	m.Result = &experiments.Result{
		Dataset: set.Name, Synthetic: set.Synthetic, Data: set.Checksum, Respondents: len(set.Train.Y), Users: least, Runs: c.Runs, Seed: c.Seed,
		Sigma: w.sigma, Promised: w.promised, Accuracies: &measure.Accuracies{Classifier: measure.HighestDensity, RMSEBitsum: w.rmse},
	}
	if w.plan != nil {
		m.Result.Plan = measure.WithoutKeys(*w.plan)
	}
	if !c.Density.CostOnly {
		if err := b.accuracies(c, w, m.Result); err != nil {
			return m, err
		}
	}
	m.Result.Seconds = time.Since(start).Seconds()
	return m, nil
}

// prepare loads the cell's records and makes its populations, unless they are
// those of the cell before.
func (b *bench) prepare(c experiments.Cell) error {
	if b.records == nil || b.records.Name != c.Dataset {
		b.records, b.populations = nil, nil // let go of the memory before more is taken
		rec, err := loadRecords(c.Dataset, c.Seed, b.load)
		if err != nil {
			return err
		}
		b.records = rec
	}
	if b.populations != nil && b.shared == b.Shared(c) {
		return nil
	}
	b.populations, b.shared = nil, b.Shared(c)
	var populations []*population
	for run := range c.Runs {
		p, err := newPopulation(c, uint64(run), b.records, b.progress)
		if err != nil {
			return err
		}
		populations = append(populations, p)
	}
	b.populations = populations
	return nil
}

// accuracies fills in what takes the data.
func (b *bench) accuracies(c experiments.Cell, w way, res *experiments.Result) error {
	if c.Density.Queries > 0 {
		res.Absolute = &experiments.Absolute{}
	}
	var private, debiased, nearest, squares []float64
	add := func(to *[]float64, x float64, err error) error {
		*to = append(*to, x)
		return err
	}
	for _, p := range b.populations {
		sums, err := w.sums(p)
		if err != nil {
			return err
		}
		densities := p.densities(p.rounded, sums)
		model, err := hdc.New(p.records.Classes, densities)
		if err != nil {
			return err
		}
		right, err := accuracy(model, p.records.Test)
		err = add(&private, right, err)
		if err == nil && c.Density.NearestMean {
			right, err = nearestMean(model, p.records.Test)
			err = add(&nearest, right, err)
		}
		if err == nil && c.Density.LabelEpsilon > 0 {
			// Classes smaller than the noise of the labels cannot be debiased: no number then.
			if clean, unable := model.Debias(p.label()); unable == nil {
				right, err = accuracy(clean, p.records.Test)
				err = add(&debiased, right, err)
			}
		}
		if err == nil && c.Density.Queries > 0 {
			square, mean, largest, unable := p.errors(densities, c.Density.Queries)
			err = add(&squares, square, unable)
			res.Absolute.Mean += mean / float64(c.Runs)
			res.Absolute.Largest += largest / float64(c.Runs)
		}
		if err == nil && c.Density.Words > 0 && res.Words == nil {
			res.Words, err = words(model, p.records.Set, c.Density.Words)
		}
		if err != nil {
			return err
		}
	}
	res.Accuracy, res.AccuracyStd = experiments.MeanStd(private)
	res.AccuracyHighestDensity = res.Accuracy
	res.AccuracyNearestMean, res.AccuracyNearestMeanStd = experiments.MeanStd(nearest)
	if len(debiased) == len(b.populations) {
		res.AccuracyDebiased, _ = experiments.MeanStd(debiased)
	}
	square, _ := experiments.MeanStd(squares)
	res.KDERMSE = math.Sqrt(square)
	for i, s := range squares {
		squares[i] = math.Sqrt(s)
	}
	_, res.KDERMSEStd = experiments.MeanStd(squares)
	open, err := b.noPrivacy(c)
	res.AccuracyNoPrivacy, res.AccuracyNearestMeanNoPrivacy = open[0], open[1]
	return err
}

// noPrivacy returns the accuracy, and that of the nearest mean if the cell asks for
// it. It does not depend on the noise of labels, but for whether there is any.
func (b *bench) noPrivacy(c experiments.Cell) (mean [2]float64, err error) {
	known := c
	known.Density.LabelEpsilon = min(c.Density.LabelEpsilon, 1)
	key := b.Shared(known)
	if c.Density.NearestMean {
		key += " nearest"
	}
	if known, ok := b.open[key]; ok {
		return known, nil
	}
	for _, p := range b.populations {
		highest, nearest, err := p.noPrivacy(c.Density.NearestMean)
		if err != nil {
			return mean, err
		}
		mean[0] += highest / float64(len(b.populations))
		mean[1] += nearest / float64(len(b.populations))
	}
	b.open[key] = mean
	return mean, nil
}

// streamOf returns one of a population's streams.
func streamOf(p *population, stream uint64) *rand.Rand {
	return seeded.New(p.cell.Seed, p.run, stream)
}

// words returns the top words of each class.
func words(model *hdc.Model, set *dataset.Set, top int) (map[string]measure.Decoding, error) {
	if len(set.Words) == 0 {
		return nil, nil
	}
	highest, err := model.Decode(set.Words, set.WordX, top)
	if err != nil {
		return nil, err
	}
	apart, err := model.Distinguish(set.Words, set.WordX, top)
	if err != nil {
		return nil, err
	}
	list := func(ws []hdc.Word) (names []string) {
		for _, w := range ws {
			names = append(names, w.Word)
		}
		return names
	}
	out := map[string]measure.Decoding{}
	for c, name := range set.Classes {
		out[name] = measure.Decoding{Highest: list(highest[c]), Apart: list(apart[c])}
	}
	return out, nil
}
