package experiments

import (
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/lab/datasets"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Spec is a named measurement: which cells it takes, and how they are shown.
type Spec struct {
	Name  string
	Title string
	// Paper is what the paper shows there and what stands in for it here.
	Paper string
	// Beside says that no page of a paper shows it: the pages that lead to these do.
	Beside bool
	// Datasets are those that the measurement speaks of, unless others are asked for.
	Datasets []string
	// Of returns cells, whose seeds are counted from that of the options.
	Of       func(o Options, dataset string) []Cell
	Sections func(s Spec, measured []Measured) []release.Section
	Kind     *Kind
}

// Kind is what all measurements of a paper have in common.
type Kind struct {
	// Takes says whether a data set can be measured on, and whether that needs the folder
	// of data sets. Choices names those that can.
	Takes   func(set string) (takes, folder bool)
	Choices []string
	Bench   func(d Data) Bench
	// Pictures are files beside the page, in a folder where the bench may have left parts of them.
	Pictures func(s Spec, folder string, cells []Measured) (map[string]Picture, error)
}

// Data are the sets that are not made up, and where a bench may leave files.
type Data struct {
	Set        func(name string) (*dataset.Set, error)
	Population func(name string) (*dataset.Population, error)
	Texts      func(name string) (*datasets.Texts, error)
	Words      func() (*datasets.WordVectors, error)
	Out        string
	Tell       simulate.Progress // of what goes on within a cell; nil: nobody is told
}

// Progress is Tell, and tells nobody where there is none.
func (d Data) Progress() simulate.Progress {
	if d.Tell == nil {
		return func(string, int, int) {}
	}
	return d.Tell
}

// Bench measures cells one after the other, and holds what they share.
type Bench interface {
	// Measure is the cell's result, or why it has none.
	Measure(c Cell) (Measured, error)
	// Shared is the same for cells that should be measured one after the other.
	Shared(c Cell) string
}

// Options bend a measurement without changing what it measures.
type Options struct {
	Datasets []string // empty: the measurement's own
	Runs     int      // 0: the measurement's own
	Quick    bool     // two budgets, one run, the first data set only
	Seed     uint64
}

// Cells returns the spec's cells under the options.
func (s Spec) Cells(o Options) []Cell {
	sets := s.Datasets
	if len(o.Datasets) > 0 {
		sets = o.Datasets
	}
	if o.Quick {
		sets, o.Runs = sets[:1], 1
	}
	var cells []Cell
	for _, set := range sets {
		for _, c := range s.Of(o, set) {
			c.Dataset, c.Seed = set, o.Seed+c.Seed
			if o.Runs > 0 {
				c.Runs = o.Runs
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// Some returns the first and last budget where there is no time for all.
func (o Options) Some(epsilons ...float64) []float64 {
	if o.Quick && len(epsilons) > 2 {
		return []float64{epsilons[0], epsilons[len(epsilons)-1]}
	}
	return epsilons
}
