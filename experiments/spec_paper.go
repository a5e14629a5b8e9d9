package experiments

import (
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode"
)

var textSets = []string{"agnews_lsa256", "agnews", "sst2"}

// standIns are what the paper's four data sets become here.
var standIns = append(textSets[:len(textSets):len(textSets)], "mnist", "fashion-mnist")

// The two kernels of the paper's experiments: random Fourier features, and
// random signs for the inner product, d repetitions of either.
var paperKernels = []Cell{{Kernel: encode.Gaussian, Bandwidth: 1}, {Kernel: encode.InnerSigns}}

// ways are the bitsums with their accounting that shuffled results are shown by.
var ways = []Cell{
	{Bitsum: "rr", Accounting: account.ExactAccounting},
	{Bitsum: "rr", Accounting: account.PaperAccounting},
	{Bitsum: "3nb", Accounting: account.ExactAccounting},
	{Bitsum: "3nb", Accounting: account.PaperAccounting},
	{Bitsum: "pure", Accounting: account.ExactAccounting},
	{Bitsum: "pure", Accounting: account.PaperAccounting},
}

var curator = Cell{Bitsum: "central", Accounting: account.ExactAccounting}

// grid is every kernel with every way at every budget; the rest is of common.
func grid(common Cell, kernels, ways []Cell, epsilons []float64) []Cell {
	var cells []Cell
	for _, k := range kernels {
		for _, w := range ways {
			for _, epsilon := range epsilons {
				c := common
				c.Kernel, c.Bandwidth, c.Clip, c.Radius = k.Kernel, k.Bandwidth, k.Clip, k.Radius
				c.Repetitions, c.NearestMean = k.Repetitions, k.NearestMean
				c.Bitsum, c.Accounting, c.Epsilon = w.Bitsum, w.Accounting, epsilon
				cells = append(cells, c)
			}
		}
	}
	return cells
}

func figure1(name string, labels float64) Spec {
	return Spec{
		Name: name, Datasets: standIns,
		Title: fmt.Sprintf("Accuracy against epsilon, labels at epsilon %g", labels),
		Paper: "Figures 1 and 5 to 8: accuracy of the highest-density-class classifier for every kernel and bitsum, with a curator's Gaussian noise (central) and exact sums (no privacy) as references.",
		cells: func(o Options, dataset string) []Cell {
			common := Cell{Delta: deltaOf(dataset), LabelEpsilon: labels, Runs: 2}
			cells := grid(common, paperKernels, append(ways[:len(ways):len(ways)], curator), o.some(0.5, 1, 2, 4, 7))
			return append(cells, grid(common, newKernels[:1], ways[:1], o.some(0.5, 1, 2, 4, 7))...)
		},
		sections: accuracyFigures,
	}
}

func figure2() Spec {
	return Spec{
		Name: "figure2", Datasets: standIns,
		Title: "Messages a device sends",
		Paper: "Figure 2: messages by epsilon for RR and 3NB. RR sends one bit a channel; 3NB sends noise and flood too; Pure sends orders of magnitude more.",
		cells: func(o Options, dataset string) []Cell {
			return grid(Cell{Delta: deltaOf(dataset), Runs: 1, CostOnly: true}, paperKernels[:1], ways, o.some(0.5, 1, 2, 4, 7))
		},
		sections: messageFigures,
	}
}

func figure3() Spec {
	return Spec{
		Name: "figure3", Datasets: standIns,
		Title: "Error of Gaussian densities",
		Paper: "Figure 3: root mean square error of private Gaussian densities at 1,000 random queries.",
		cells: func(o Options, dataset string) []Cell {
			common := Cell{Delta: deltaOf(dataset), Runs: 2, Queries: 1000}
			return grid(common, paperKernels[:1], append(ways[:len(ways):len(ways)], curator), o.some(0.5, 1, 2, 4, 7))
		},
		sections: errorFigures,
	}
}

func figure4() Spec {
	return Spec{
		Name: "figure4", Datasets: standIns,
		Title: "Shuffled against local randomized response",
		Paper: "Figure 4: the same randomized response without a shuffler, calibrated so that each bit protects itself; labels at epsilon 5.",
		cells: func(o Options, dataset string) []Cell {
			common := Cell{Delta: deltaOf(dataset), LabelEpsilon: 5, Runs: 2}
			local := Cell{Bitsum: "local", Accounting: account.ExactAccounting}
			return grid(common, paperKernels, []Cell{ways[0], ways[1], local}, o.some(0.5, 1, 2, 4, 7))
		},
		sections: accuracyFigures,
	}
}

// labelLevels are the columns of the paper's Tables 2 to 5; 0 is infinity.
var labelLevels = []float64{0, 7, 5, 3, 1}

func labelTable(name, theirs, ours string, epsilons []float64) Spec {
	return Spec{
		Name: name, Datasets: []string{ours},
		Title: "Effect of the labels' epsilon",
		Paper: fmt.Sprintf("%s%s: accuracy by the labels' epsilon on %s, for which %s stands in.", "Table ", name[len("table"):], theirs, ours),
		cells: func(o Options, dataset string) []Cell {
			var cells []Cell
			for _, labels := range labelLevels {
				common := Cell{Delta: deltaOf(dataset), LabelEpsilon: labels, Runs: 3}
				cells = append(cells, grid(common, paperKernels, ways[:4], o.some(epsilons...))...)
				cells = append(cells, grid(common, newKernels[:1], ways[:1], o.some(epsilons...))...)
			}
			return cells
		},
		sections: labelTables,
	}
}

func wordTable(name string, epsilon float64) Spec {
	return Spec{
		Name: name, Datasets: textSets,
		Title: fmt.Sprintf("Classes in words, epsilon %g, labels at epsilon 5", epsilon),
		Paper: "Tables 1 and 6 to 8: the three vocabulary words of highest private density in each class. Beside them, those whose density exceeds that in the other classes by most.",
		cells: func(o Options, dataset string) []Cell {
			common := Cell{Delta: deltaOf(dataset), LabelEpsilon: 5, Runs: 1, Words: 3}
			cells := grid(common, paperKernels, ways[:4], []float64{epsilon})
			return append(cells, grid(common, newKernels, ways[:1], []float64{epsilon})...)
		},
		sections: wordTables,
	}
}
