package experiments

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/confetti-dp/confetti/dp/account/theorems"
	"github.com/confetti-dp/confetti/dp/estimate"
	"github.com/confetti-dp/confetti/internal/dataset"
)

// populationBench measures histograms, and holds what cells share.
type populationBench struct {
	load func(name string) (*dataset.Population, error)
	out  string
	seed uint64
	last *dataset.Population
	name string
}

// PictureFolder holds, below the folder of a run, a PNG of what each cell made of a
// picture, named by the cell, and of each picture itself.
const PictureFolder = "pictures"

// measure is the cell's result, or why it has none.
func (b *populationBench) measure(c Cell) (Measured, error) {
	p, err := b.population(c)
	if err != nil {
		return Measured{}, err
	}
	h := c.Histogram
	h.Seed, h.Runs = c.Seed, c.Runs
	res, values, err := h.measure(p, func(string, int, int) {})
	var domain *theorems.DomainError
	if errors.As(err, &domain) {
		return Measured{Cell: c, Reason: err.Error()}, nil
	}
	if err != nil {
		return Measured{}, err
	}
	res.Dataset = c.Dataset
	if p.Columns > 0 {
		if err := b.keep(c.key(), p, values); err != nil {
			return Measured{}, err
		}
	}
	return Measured{Cell: c, Histogram: &res}, nil
}

// population is that of the cell, unless it is that of the cell before.
func (b *populationBench) population(c Cell) (*dataset.Population, error) {
	if b.last != nil && b.name == c.Dataset && b.seed == c.Seed {
		return b.last, nil
	}
	b.last = nil // let go of the memory before more is taken
	p, err := Population(c.Dataset, c.Seed, b.load)
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

// truthOf is the file of a population's own picture, without its extension.
func truthOf(set string) string { return "truth-" + stem(set) }

// keep writes the picture of estimates or, without any, of the truth.
func (b *populationBench) keep(name string, p *dataset.Population, values []estimate.Value) error {
	dir := filepath.Join(b.out, PictureFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	picture := develop(p, func(cell int) float64 {
		if values == nil {
			return float64(p.Holders[cell])
		}
		return values[cell].Mean
	})
	return writeWhole(filepath.Join(dir, name+".png"), func(w io.Writer) error { return picture.write(w) })
}

// String says what is measured, for progress and for errors.
func (h Histogram) String() string {
	s := h.way()
	if h.LocalEpsilon > 0 {
		return fmt.Sprintf("%s, local epsilon %g", s, h.LocalEpsilon)
	}
	return fmt.Sprintf("%s, epsilon %g", s, h.Epsilon)
}

// way is all but the budget.
func (h Histogram) way() string {
	s := h.Encoding
	if h.Encoding == Central {
		return s
	}
	if h.Fragments > 1 {
		s += fmt.Sprintf(" in %d fragments", h.Fragments)
	}
	if h.Repeats > 1 {
		s += fmt.Sprintf(" %d times", h.Repeats)
	}
	if h.Crowds > 0 {
		return s + fmt.Sprintf(", %d at epsilon %g", h.Crowds, h.CrowdEpsilon)
	}
	return s + ", " + string(h.Accounting)
}
