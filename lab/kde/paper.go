package kde

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// standIns are what the paper's four data sets become here: news, encyclopaedia and reviews as latent directions of words,
// and of its images pictures as they are and made-up vectors of that size.
var standIns = []string{"agnews_lsa256", "dbpedia14", "sst2_glue", "fashion-mnist"}

// inWords are sets with a vocabulary: the texts of three of the paper's sets as means of GloVe's vectors and by the paper's
// encoder, and news as latent directions of words.
var inWords = append([]string{"agnews_lsa256", "agnews" + averaged, "dbpedia14" + averaged, "sst2_glue" + averaged}, sentences...)

// The paper's three sets of texts by its encoder, with as many respondents in a class as it has.
const dbpediaEncoded, newsEncoded, phrasesEncoded = "dbpedia14" + encoded + "@40000", "agnews" + encoded + "@30000", "sst2_glue" + encoded + "@33674"

// inFigures lists the sets of the paper's figures: those that stand in, and its texts by its encoder.
var inFigures = append(standIns[:4:4], dbpediaEncoded, newsEncoded, phrasesEncoded)

// paperRuns is how often the paper runs each cell.
const paperRuns = 5

// The two kernels of the paper's experiments: d random Fourier features, and the coordinates
// as they are for the inner product, which its authors' code rounds. Random signs stand in
// its Appendix A.3 only.
var (
	paperKernels = []experiments.Density{{Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1}}, {Kernel: plan.Kernel{Name: "ip-identity"}}}
	signs        = []experiments.Density{{Kernel: plan.Kernel{Name: "ip-signs"}}}
)

// ways are the bitsums with their accounting that shuffled results are shown by.
var ways = []experiments.Density{
	{Bitsum: "rr", Accounting: calibrate.Exact},
	{Bitsum: "rr", Accounting: calibrate.Paper},
	{Bitsum: "3nb", Accounting: calibrate.Exact},
	{Bitsum: "3nb", Accounting: calibrate.Paper},
	{Bitsum: "3nb", Accounting: experiments.AuthorsAccounting},
	{Bitsum: "pure", Accounting: calibrate.Exact},
	{Bitsum: "pure", Accounting: calibrate.Paper},
}

// Specs returns all measurements, in the order of the paper.
func Specs() []experiments.Spec {
	withCurator := append(ways[:len(ways):len(ways)], curator)
	local := experiments.Density{Bitsum: experiments.Local, Accounting: calibrate.Exact}
	common := func(labels float64) experiments.Cell {
		return experiments.Cell{Runs: paperRuns, Density: experiments.Density{LabelEpsilon: labels}}
	}
	costs, queries := common(0), common(0)
	costs.Runs, costs.Density.CostOnly, queries.Density.Queries = 1, true, 1000
	figure1 := func(name string, labels float64, more ...string) experiments.Spec {
		return spec(name, fmt.Sprintf("Accuracy against epsilon, labels at epsilon %g", labels),
			"Figures 1 and 5 to 8: accuracy of the highest-density-class classifier for every kernel and bitsum, with a curator's Gaussian noise (central) and exact sums (no privacy) as references. Vectors of CIFAR-10's size are measured by inner products, at labels of 5.",
			append(inFigures[:7:7], more...), accuracyFigures, part{common(labels), paperKernels, withCurator}, part{common(labels), newKernels[:1], ways[:1]})
	}
	specs := []experiments.Spec{
		figure1("figure1", 5, cifarLike),
		spec("figure2", "Messages a device sends",
			"Figure 2: messages by epsilon for RR and 3NB. RR sends one bit a channel; 3NB sends noise and flood too; Pure sends orders of magnitude more.",
			inFigures, messageFigures, part{costs, paperKernels[:1], ways}),
		spec("figure3", "Error of Gaussian densities",
			"Figure 3: root mean square error of private Gaussian densities at 1,000 random queries.",
			inFigures, errorFigures, part{queries, paperKernels[:1], withCurator}),
		spec("figure4", "Shuffled against local randomized response",
			"Figure 4: the same randomized response without a shuffler, calibrated so that each bit protects itself; labels at epsilon 5.",
			inFigures, accuracyFigures, part{common(5), paperKernels, []experiments.Density{ways[0], ways[1], local}}),
		figure1("figure5", 10), figure1("figure6", 7), figure1("figure7", 5, cifarLike), figure1("figure8", 3),
		labelTable("table2", "DBPedia-14", []string{"dbpedia14@40000", dbpediaEncoded}, []float64{2, 4.5, 7}), labelTable("table3", "AG News", []string{"agnews_lsa256@30000", newsEncoded}, []float64{2, 4.5, 7}),
		labelTable("table4", "SST2", []string{"sst2_glue@33674", phrasesEncoded}, []float64{2, 4.5, 7}), labelTable("table5", "CIFAR-10", []string{"fashion-mnist"}, []float64{1.5, 3, 4.7}),
		wordTable("table1", 3.2), wordTable("table6", 5.7), wordTable("table7", 4.4), wordTable("table8", 3.2),
		beyond(), kernels(), extrapolation(), again(), apart(), contrast(), numbers(),
		spec("appendix-signs", "Inner products by random signs, labels at epsilon 5",
			"Appendix A.3: as many random signs as dimensions in the place of the coordinates, beside figure 1.",
			standIns[:1], accuracyFigures, part{common(5), append(signs[:1:1], paperKernels[1]), append(ways[:5:5], curator)}),
	}
	for i := range specs {
		specs[i].Kind = Kind
	}
	return specs
}

// part is some kernels with some ways; the rest is of common.
type part struct {
	common        experiments.Cell
	kernels, ways []experiments.Density
}

// spec returns a measurement of parts, at the paper's delta and the epsilons of its figures.
func spec(name, title, paper string, sets []string, sections func(experiments.Spec, []experiments.Measured) []release.Section, parts ...part) experiments.Spec {
	return specAt([]float64{0.5, 1, 2, 4, 7}, name, title, paper, sets, sections, parts...)
}

func specAt(epsilons []float64, name, title, paper string, sets []string, sections func(experiments.Spec, []experiments.Measured) []release.Section, parts ...part) experiments.Spec {
	return experiments.Spec{
		Name: name, Datasets: sets, Title: title, Paper: paper, Sections: sections,
		Of: func(o experiments.Options, set string) (cells []experiments.Cell) {
			for _, p := range parts {
				p.common.Density.Delta = deltaOf(set)
				kernels := slices.Clone(p.kernels)
				if set == cifarLike { // Fourier features of all its coordinates take hours
					kernels = slices.DeleteFunc(kernels, func(k experiments.Density) bool { return k.Kernel.Name == "gaussian" })
				}
				for i := range kernels {
					if kernels[i].Kernel.Name == "gaussian" && kernels[i].Repetitions == 0 {
						kernels[i].Repetitions = paperRepetitions(set)
					}
				}
				cells = append(cells, grid(p.common, kernels, p.ways, o.Some(epsilons...))...)
			}
			return cells
		},
	}
}

var curator = experiments.Density{Bitsum: experiments.Curator, Accounting: calibrate.Exact}

// grid returns every kernel with every way at every budget; the rest is of common.
func grid(common experiments.Cell, kernels, ways []experiments.Density, epsilons []float64) []experiments.Cell {
	var cells []experiments.Cell
	for _, k := range kernels {
		for _, w := range ways {
			for _, epsilon := range epsilons {
				c := common
				d := &c.Density
				d.Kernel, d.Repetitions, d.NearestMean = k.Kernel, k.Repetitions, k.NearestMean
				d.Bitsum, d.Accounting, d.Epsilon = w.Bitsum, w.Accounting, epsilon
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// labelLevels are the columns of the paper's Tables 2 to 5; 0 is infinity.
var labelLevels = []float64{0, 7, 5, 3, 1}

func labelTable(name, theirs string, ours []string, epsilons []float64) experiments.Spec {
	var parts []part
	for _, labels := range labelLevels {
		common := experiments.Cell{Runs: paperRuns, Density: experiments.Density{LabelEpsilon: labels}}
		parts = append(parts, part{common, paperKernels, append(ways[:5:5], curator)}, part{common, newKernels[:1], ways[:1]})
	}
	standing := ours[0] + " stands in"
	if len(ours) > 1 {
		standing += "; and with the paper's features"
	}
	return specAt(epsilons, name, "Effect of the labels' epsilon",
		fmt.Sprintf("Table %s: accuracy by the labels' epsilon on %s, for which %s.", name[len("table"):], theirs, standing),
		ours, labelTables, parts...)
}

func wordTable(name string, epsilon float64) experiments.Spec {
	common := experiments.Cell{Runs: 1, Density: experiments.Density{LabelEpsilon: 5, Words: 3}}
	return specAt([]float64{epsilon}, name, fmt.Sprintf("Classes in words, epsilon %g, labels at epsilon 5", epsilon),
		"Tables 1 and 6 to 8: the three vocabulary words of highest private density in each class. Beside them, those whose density exceeds that in the other classes by most.",
		inWords, wordTables, part{common, paperKernels, []experiments.Density{ways[0], ways[2], ways[5]}}, part{common, newKernels[:1], ways[:1]})
}
