package esa

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
)

// The sketch of ESA's tables is that of a deployment it cites.
const hashes, width = 1024, 65536

// noNoise is a local epsilon at which bits hardly ever flip: the rows without
// privacy of Table V.
const noNoise = 27

var budgets = []float64{0.05, 0.25, 0.5, 0.75, 1}

// deltaOf is ESA's, by the number of respondents; 1e-6 for what is not of ESA's size.
func deltaOf(set string) float64 {
	switch set {
	case horseLike, "horse-sketch", "horse-filled", "camera", "coins":
		return 5e-8
	case childLike:
		return 5e-9
	case mapLike, heavyHitters, heavyBehind, "en-words":
		return 5e-10
	}
	return 1e-6
}

// way returns a experiments.Histogram without a budget.
func way(encoding string, by calibrate.Accounting, fragments int) experiments.Histogram {
	h := experiments.Histogram{Encoding: encoding, Accounting: by, Fragments: fragments}
	if encoding == experiments.CountMean || encoding == experiments.Count {
		h.Hashes, h.Width = hashes, width
	}
	return h
}

// fragmented are reports of an encoding as they are, and in 4, 16 and 256 fragments.
func fragmented(encoding string, by calibrate.Accounting) []experiments.Histogram {
	return []experiments.Histogram{way(encoding, by, 0), way(encoding, by, 4), way(encoding, by, 16), way(encoding, by, 256)}
}

func repeated(encoding string, by calibrate.Accounting) []experiments.Histogram {
	ways := []experiments.Histogram{way(encoding, by, 0), way(encoding, by, 0), way(encoding, by, 0)}
	ways[1].Repeats, ways[2].Repeats = 2, 5
	return ways
}

var curator = way(experiments.Central, calibrate.Exact, 0)

// cellsAt returns every way at every budget.
func cellsAt(set string, epsilons []float64, ways []experiments.Histogram) []experiments.Cell {
	var cells []experiments.Cell
	for _, epsilon := range epsilons {
		for _, h := range ways {
			h.Epsilon, h.Delta = epsilon, deltaOf(set)
			cells = append(cells, cell(h))
		}
	}
	return cells
}

func cell(h experiments.Histogram) experiments.Cell {
	if h.Adjacency == "" {
		h.Adjacency = account.Removal
	}
	return experiments.Cell{Histogram: h, Runs: 3}
}

// cellsAtLocal returns every way at a local epsilon.
func cellsAtLocal(set string, epsilon float64, ways []experiments.Histogram) []experiments.Cell {
	var cells []experiments.Cell
	for _, h := range ways {
		h.LocalEpsilon, h.Delta = epsilon, deltaOf(set)
		cells = append(cells, cell(h))
	}
	return cells
}

// Specs returns all measurements, in the order of the paper.
func Specs() []experiments.Spec {
	paper, exact := calibrate.Paper, calibrate.Exact
	grid := func(epsilons []float64, ways ...[]experiments.Histogram) func(o experiments.Options, set string) []experiments.Cell {
		return func(o experiments.Options, set string) []experiments.Cell {
			return cellsAt(set, o.Some(epsilons...), slices.Concat(ways...))
		}
	}
	oneHots := [][]experiments.Histogram{{curator}, fragmented(experiments.OneHot, paper), fragmented(experiments.OneHot, exact)}
	specs := []experiments.Spec{
		{
			Name: "esa-table1", Datasets: []string{heavyHitters}, Title: "Heavy hitters, one-hot",
			Paper: "Table I: 200 million reports of 1.78 million values, one-hot reports and report fragments, and the reports in a sketch.",
			Of:    grid([]float64{0.0025, 0.01, 0.05, 0.25, 1}, append(oneHots[:3:3], fragmented(experiments.CountMean, paper))...),
		},
		{
			Name: "esa-table3", Datasets: []string{horseLike, childLike, mapLike, heavyHitters}, Title: "Four populations",
			Paper: "Table III: local epsilon 2, central epsilon 0.05 and 1, and a sketch with the flips of the last.",
			Of: func(o experiments.Options, set string) []experiments.Cell {
				ways := []experiments.Histogram{way(experiments.OneHot, paper, 0), way(experiments.OneHot, exact, 0)}
				cells := append(cellsAtLocal(set, 2, ways[:1]), cellsAt(set, []float64{0.05, 1}, ways)...)
				return append(cells, cellsAt(set, []float64{1}, []experiments.Histogram{way(experiments.CountMean, paper, 0)})...)
			},
		},
		{
			Name: "esa-table4", Datasets: []string{horseLike}, Title: "A sparse picture",
			Paper: "Table IV: the horse, by a curator, by one-hot reports, and by report fragments.",
			Of:    grid(budgets, oneHots...),
		},
		{
			Name: "esa-table5", Datasets: []string{horseLike}, Title: "A sparse picture, sketched",
			Paper: "Table V: the horse by a sketch of 1,024 hash functions by 65,536 cells, and that sketch without privacy. ESA gives the sketch the flips of one-hot reports and claims no central epsilon below the local one; ours is what the devices of a row hide.",
			Of: func(o experiments.Options, set string) []experiments.Cell {
				cells := cellsAt(set, o.Some(budgets...), fragmented(experiments.CountMean, paper))
				return append(cells, cellsAtLocal(set, noNoise, []experiments.Histogram{way(experiments.CountMean, exact, 0)})...)
			},
		},
		{
			Name: "esa-table6", Datasets: []string{horseLike}, Title: "One report or several",
			Paper: "Table VI: every respondent reports once, twice or five times, with as large a share of the local epsilon. Under exact accounting all reports together keep the central epsilon.",
			Of:    grid(budgets, repeated(experiments.OneHot, paper), repeated(experiments.OneHot, exact)),
		},
		{
			Name: "esa-table7", Datasets: []string{horseLike}, Title: "One hash function or several",
			Paper: "Table VII: every respondent answers for one, two or five hash functions of the sketch, with as large a share of the local epsilon.",
			Of:    grid(budgets, repeated(experiments.CountMean, paper)),
		},
		{
			Name: "esa-table8", Datasets: []string{mapLike}, Title: "A map",
			Paper: "Table VIII: as Table IV, for 237 million respondents on 2.8 million cells.",
			Of:    grid(budgets, oneHots...),
		},
		{
			Name: "esa-table9", Datasets: []string{childLike}, Title: "A dense picture",
			Paper: "Table IX: as Table IV, for a picture without black.",
			Of:    grid(budgets, oneHots...),
		},
	}
	specs = append(specs, bounds(), ours(), crowds(), collisions())
	for i := range specs {
		if specs[i].Kind = Kind; specs[i].Sections == nil {
			specs[i].Sections = tables
		}
	}
	return specs
}

// ours returns what exact accounting makes of other encodings and other populations.
func ours() experiments.Spec {
	exact := calibrate.Exact
	return experiments.Spec{
		Name: "esa-exact", Beside: true, Datasets: []string{horseLike, zipfWords, heavyHitters}, Title: "At equal central epsilon",
		Paper: "Beyond ESA: one-hot reports by either accounting, bits that are sent half of the time, and report fragments, all at one central epsilon; heavy hitters at a false-discovery rate of 5 %.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			ways := []experiments.Histogram{curator, way(experiments.OneHot, calibrate.Paper, 0), way(experiments.OneHot, exact, 0), way(experiments.Asymmetric, exact, 0), way(experiments.OneHot, exact, 16)}
			return cellsAt(set, o.Some(0.25, 1), ways)
		},
	}
}

// collisions sets sketches of two laws of heavy hitters beside each other.
func collisions() experiments.Spec {
	return experiments.Spec{
		Name: "esa-collisions", Datasets: []string{heavyHitters, heavyBehind}, Title: "What a sketch's error is of",
		Paper: "Table III, last row: the sketch of heavy hitters, whose error is that of colliding with the largest values. The paper does not say how large these are: beside a power law that begins anew behind the hundred, one that goes on behind them.",
		Of: func(_ experiments.Options, set string) []experiments.Cell {
			return cellsAt(set, []float64{1}, []experiments.Histogram{way(experiments.CountMean, calibrate.Paper, 0)})
		},
	}
}

// crowds splits a local epsilon between a report and the name of its crowd.
func crowds() experiments.Spec {
	return experiments.Spec{
		Name: "esa-crowds", Beside: true, Datasets: []string{horseLike}, Title: "Crowds named by the value",
		Paper: "Section V: reports in crowds that a hash of the value names, the local epsilon of Table IV split between the name and the report. The first row does without.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			var cells []experiments.Cell
			for _, local := range o.Some(5.96, 7.28, 8.55) {
				ways := []experiments.Histogram{way(experiments.OneHot, calibrate.Exact, 0)}
				for _, crowds := range []int{2, 16, 256} {
					for _, share := range []float64{1, 2, 4} {
						h := way(experiments.DerivedCrowds, calibrate.Exact, 0)
						h.Crowds, h.CrowdEpsilon = crowds, share
						ways = append(ways, h)
					}
				}
				cells = append(cells, cellsAtLocal(set, local, ways)...)
			}
			return cells
		},
	}
}

// claimed returns a local epsilon for people, to whom a large one promises nothing.
func claimed(epsilon *float64) string {
	if epsilon == nil || *epsilon > account.Meaningless {
		return "none"
	}
	return fmt.Sprintf("%.2f", *epsilon)
}
