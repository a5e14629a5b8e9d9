package kde

import (
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/encode/kernelmap"
	"github.com/confetti-dp/confetti/lab/experiments"
	"github.com/confetti-dp/confetti/plan"
)

// rotatedClip keeps the bias of clipping small while the noise, which grows with
// it, stays within twice that of features that are never clipped.
const rotatedClip = 2

// pairedBits are what a device sends for paired features: enough that the error
// of the features themselves is below that of the noise.
const pairedBits = 4096

// newKernels are the maps of one bit a coordinate that KDE does not have.
var newKernels = []experiments.Density{
	{Kernel: plan.Kernel{Name: "ip-rotated", Clip: rotatedClip}, NearestMean: true},
	{Kernel: plan.Kernel{Name: "gaussian-paired", Bandwidth: 1}, Repetitions: pairedBits / 2},
}

func beyond() experiments.Spec {
	return specAt([]float64{0.5, 1, 2, 4}, "beyond", "Beyond the paper: one bit a coordinate, labels as they are",
		"Not in the paper: rotated and clipped inner products and paired Gaussian features, whose accounting uses the sum of squared gaps, beside the paper's protocols under its accounting and the exact one.",
		[]string{"agnews", "sst2"}, accuracyComparison,
		part{experiments.Cell{Runs: paperRuns}, paperKernels, ways[:5]}, part{experiments.Cell{Runs: paperRuns}, newKernels, ways[:1]})
}

// sameBits is what every kernel may send where kernels are compared.
const sameBits = 1024

func kernels() experiments.Spec {
	const dimension = 256 // of AG news
	// The bandwidth is the one that goes with the kernel's distance: the distance of two unit vectors drawn at random.
	rule := func(k kernelmap.Kernel) float64 { return k.Similarity().Apart(dimension) }
	families := []experiments.Density{
		{Kernel: plan.Kernel{Name: "gaussian", Bandwidth: rule(kernelmap.Gaussian)}, Repetitions: sameBits},
		{Kernel: plan.Kernel{Name: "gaussian-paired", Bandwidth: rule(kernelmap.GaussianPaired)}, Repetitions: sameBits / 2},
		{Kernel: plan.Kernel{Name: "ip-signs"}, Repetitions: sameBits},
		{Kernel: plan.Kernel{Name: "laplacian-sign", Bandwidth: rule(kernelmap.LaplacianSign)}, Repetitions: sameBits},
		{Kernel: plan.Kernel{Name: "exponential-sign", Bandwidth: rule(kernelmap.ExponentialSign), Radius: 1.001}, Repetitions: sameBits},
	}
	s := specAt([]float64{0.5, 1, 2, 4}, "kernels", "Kernels at 1,024 bits a device, labels as they are",
		"Not measured in the paper: every family of one bit a coordinate at the same number of bits, by randomized response. A bandwidth is the distance of two unit vectors drawn at random, which takes no record: 1.41, and for the Laplacian, whose distance adds up over the coordinates, 18.",
		[]string{"agnews"}, accuracyComparison, part{experiments.Cell{Runs: paperRuns}, families, ways[:1]})
	s.Beside = true
	return s
}

func extrapolation() experiments.Spec {
	five, kernels := experiments.Cell{Runs: paperRuns}, []experiments.Density{{Kernel: plan.Kernel{Name: "ip-identity"}}, newKernels[0]}
	return specAt([]float64{0.5, 1, 1.5, 2, 4}, "extrapolation", "Extrapolation to the paper's size",
		"DBPedia-14 (14 classes of 40,000, d = 768) in size only: synthetic unit vectors of stated shape. The paper's inner product is shown by identity features, which need no projection and err no more than random signs. Coordinate by coordinate, as the paper accounts, RR costs what a curator's Gaussian noise on the same sums does (central); by the sum of squared gaps (RR, exact) identity features gain as much as rotated ones do.",
		[]string{dbpediaLike}, accuracyComparison,
		part{five, kernels[:1], append(ways[:5:5], curator, holder)}, part{five, kernels[1:], ways[:1]})
}

// authorsDelta is what the authors' program sets for all data, where the paper has 1e-6 for news.
const authorsDelta = 1e-5

// again measures RR on Gaussian features in runs of three more seeds, until its mean was known to half a percent, and at the
// authors' delta too.
func again() experiments.Spec {
	seeds := []int{2, 6, 6} // runs of each, from the second
	var parts []part
	for i, runs := range seeds {
		parts = append(parts, part{experiments.Cell{Runs: runs, Seed: uint64(i + 1)}, paperKernels[:1], ways[1:2]})
	}
	s := specAt([]float64{2, 4.5, 7}, "table3-again", "Table 3, RR on Gaussian features, in more runs",
		"Table 3, first column: Gaussian densities by RR and the paper's own accounting, 14 runs of three more seeds, and at epsilon 4.5 twelve at the delta of its authors' program, 1e-5 for 1e-6.",
		[]string{"agnews_lsa256@30000"}, labelTables, parts...)
	paper := s.Of
	s.Of = func(o experiments.Options, set string) []experiments.Cell {
		cells := paper(o, set)
		for _, c := range cells {
			if c.Seed > 1 && c.Density.Epsilon == 4.5 {
				c.Density.Delta = authorsDelta
				cells = append(cells, c)
			}
		}
		return cells
	}
	return s
}

// apart crosses the map of inner products with the accounting.
func apart() experiments.Spec {
	maps := []experiments.Density{paperKernels[1], {Kernel: newKernels[0].Kernel}}
	return spec("apart", "What the accountant and the rotation bring, apart",
		"Not in the paper: coordinates as they are and rotated ones, each with the flips of the paper's accounting and of the exact one, labels as they are.",
		standIns[:1], accuracyComparison, part{experiments.Cell{Runs: paperRuns}, maps, ways[:4]})
}

// Fourier features of a set of CIFAR-10's size are a third of the paper's 6,144, of a projection: all of it takes minutes of a
// core in the place of seconds.
const (
	shapeBits       = 2048
	shapeProjection = 256
)

var fourier = experiments.Density{Kernel: plan.Kernel{Name: "gaussian-projected", Bandwidth: 1, Projection: shapeProjection}, Repetitions: shapeBits}

// contrast returns the paper's main one, of Gaussian densities and inner products on images, at all levels of labels. Inner
// products of labels as they are have the epsilons of the figures besides.
func contrast() experiments.Spec {
	epsilons, five := []float64{1.5, 3, 4.7}, experiments.Cell{Runs: paperRuns}
	parts := []part{{five, []experiments.Density{fourier}, append(ways[:5:5], curator)}}
	for _, labels := range labelLevels[1:] {
		common := five
		common.Density.LabelEpsilon = labels
		parts = append(parts, part{common, paperKernels[1:], ways[:4]}, part{common, newKernels[:1], ways[:1]}, part{common, []experiments.Density{fourier}, ways[:4]})
	}
	levels := specAt(epsilons, "table5-shape", "Gaussian densities and inner products in CIFAR-10's size",
		"Table 5 on made-up unit vectors of CIFAR-10's size (10 classes of 5,000, d = 6144): Gaussian densities by 2,048 Fourier features of a projection to 256 directions, where the paper has 6,144 of all coordinates, and inner products, at all levels of labels.",
		[]string{cifarLike}, labelTables, parts...)
	asTheyAre := specAt([]float64{0.5, 1, 1.5, 2, 3, 4, 4.7}, "", "", "", nil, nil, part{five, paperKernels[1:], append(ways[:5:5], curator, holder)}, part{five, newKernels[:1], ways[:1]})
	of := levels.Of
	levels.Of = func(o experiments.Options, set string) []experiments.Cell {
		return append(of(o, set), asTheyAre.Of(o, set)...)
	}
	return levels
}

// Who adds up numbers and no bits: one who holds all records, and devices of which nothing but sums is revealed.
var (
	holder  = experiments.Density{Bitsum: experiments.Holder, Accounting: calibrate.Exact}
	devices = experiments.Density{Bitsum: experiments.RealSums, Accounting: calibrate.Exact}
)

// numbers sets bits beside the numbers that they are drawn of.
func numbers() experiments.Spec {
	return spec("real-sums", "Bits and the numbers that they are of",
		"Appendix B.2: sums of the features themselves, by one who holds the records and adds Gaussian noise, and by devices that add a discrete Gaussian each and of which nothing but sums is revealed; beside one bit a channel by randomized response, and a curator's noise on such bits.",
		standIns[:1], accuracyComparison, part{experiments.Cell{Runs: paperRuns}, paperKernels, []experiments.Density{ways[0], curator, holder, devices}})
}
