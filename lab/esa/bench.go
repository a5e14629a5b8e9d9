package esa

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/confetti-dp/confetti/internal/account/theorems"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// Kind is what measurements of populations have in common.
var Kind = &experiments.Kind{
	Takes: func(set string) (takes, folder bool) {
		folder = slices.Contains(datasets.PopulationNames(), set)
		return folder || slices.Contains(MadeUp(), set) || dataset.IsPicture(set), folder
	},
	Choices:  slices.Concat(MadeUp(), datasets.PopulationNames(), []string{"a PNG file"}),
	Bench:    func(d experiments.Data) experiments.Bench { return &bench{data: d} },
	Pictures: sheets,
}

// bench measures histograms, and holds the last population.
type bench struct {
	data experiments.Data
	last *dataset.Population
	name string
	seed uint64
}

// PictureFolder holds, below the folder of a run, a PNG of what each cell made of a
// picture, named by the cell, and of each picture itself.
const PictureFolder = "pictures"

func (b *bench) Shared(c experiments.Cell) string { return c.Histogram.Way() }

func (b *bench) Measure(c experiments.Cell) (experiments.Measured, error) {
	p, err := b.population(c)
	if err != nil {
		return experiments.Measured{}, err
	}
	res, values, err := measured(c, p, func(string, int, int) {})
	if _, outside := errors.AsType[*theorems.DomainError](err); outside {
		return experiments.Measured{Cell: c, Reason: err.Error()}, nil
	}
	if err != nil {
		return experiments.Measured{}, err
	}
	res.Dataset = c.Dataset
	if p.Columns > 0 {
		if err := b.keep(c.Key(), p, values); err != nil {
			return experiments.Measured{}, err
		}
	}
	return experiments.Measured{Cell: c, Result: &res}, nil
}

// population returns that of the cell, unless it is that of the cell before.
func (b *bench) population(c experiments.Cell) (*dataset.Population, error) {
	if b.last != nil && b.name == c.Dataset && b.seed == c.Seed {
		return b.last, nil
	}
	b.last = nil // let go of the memory before more is taken
	p, err := Population(c.Dataset, c.Seed, b.data.Population)
	if err != nil {
		return nil, err
	}
	b.last, b.name, b.seed = p, c.Dataset, c.Seed
	if p.Columns > 0 {
		err = b.keep(truthOf(c.Dataset), p, nil)
	}
	return p, err
}

// stem names files of a population, whose name may be a path: lower-case letters,
// digits and hyphens.
func stem(set string) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(set), filepath.Ext(set)))
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' {
			return c
		}
		return '-'
	}, base)
}

// truthOf returns the file of a population's own picture, without its extension.
func truthOf(set string) string { return "truth-" + stem(set) }

// keep writes the picture of estimates or, without any, of the truth.
func (b *bench) keep(name string, p *dataset.Population, values []estimate.Value) error {
	dir := filepath.Join(b.data.Out, PictureFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	shown := develop(p, func(cell int) float64 {
		if values == nil {
			return float64(p.Holders[cell])
		}
		return values[cell].Mean
	})
	return experiments.WriteWhole(partOf(b.data.Out, name), func(w io.Writer) error { return shown.Write(w) })
}
