package kde

import (
	"github.com/confetti-dp/confetti/experiments"
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
	return experiments.Spec{
		Name: "beyond", Datasets: []string{"agnews", "sst2", "mnist", "fashion-mnist"},
		Title: "Beyond the paper: one bit a coordinate, labels as they are",
		Paper: "Not in the paper: rotated and clipped inner products and paired Gaussian features, whose accounting uses the sum of squared gaps, beside the paper's protocols under its accounting and the exact one.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			common := experiments.Cell{Runs: 3, Density: experiments.Density{Delta: 1e-5}}
			epsilons := o.Some(0.5, 1, 2, 4)
			cells := grid(common, paperKernels, ways[:5], epsilons)
			common.Runs = 5
			return append(cells, grid(common, newKernels, ways[:1], epsilons)...)
		},
		Sections: accuracyComparison,
	}
}

// sameBits is what every kernel may send where kernels are compared.
const sameBits = 1024

func kernels() experiments.Spec {
	return experiments.Spec{
		Name: "kernels", Datasets: []string{"agnews"},
		Title: "Kernels at 1,024 bits a device, labels as they are",
		Paper: "Not measured in the paper: every family of one bit a coordinate at the same number of bits, by randomized response. Bandwidths are 1, and for the Laplacian, whose distance adds up over the coordinates, 16, about the root of their number.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			families := []experiments.Density{
				{Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1}, Repetitions: sameBits},
				{Kernel: plan.Kernel{Name: "gaussian-paired", Bandwidth: 1}, Repetitions: sameBits / 2},
				{Kernel: plan.Kernel{Name: "ip-signs"}, Repetitions: sameBits},
				{Kernel: plan.Kernel{Name: "laplacian-sign", Bandwidth: 16}, Repetitions: sameBits},
				{Kernel: plan.Kernel{Name: "exponential-sign", Bandwidth: 1, Radius: 1.001}, Repetitions: sameBits},
			}
			return grid(experiments.Cell{Runs: 3, Density: experiments.Density{Delta: deltaOf(set)}}, families, ways[:1], o.Some(0.5, 1, 2, 4))
		},
		Sections: accuracyComparison,
	}
}

func extrapolation() experiments.Spec {
	return experiments.Spec{
		Name: "extrapolation", Datasets: []string{dbpediaLike, cifarLike},
		Title: "Extrapolation to the paper's sizes",
		Paper: "DBPedia-14 (14 classes of 40,000, d = 768) and CIFAR-10 (10 classes of 5,000, d = 6144) in size only: synthetic unit vectors of stated shape. The paper's inner product is shown by identity features, which need no projection and err no more than random signs. Coordinate by coordinate, as the paper accounts, RR costs what a curator's Gaussian noise on the same sums does (central); by the sum of squared gaps (RR, exact) identity features gain as much as rotated ones do.",
		Of: func(o experiments.Options, set string) []experiments.Cell {
			common := experiments.Cell{Runs: 1, Density: experiments.Density{Delta: deltaOf(set)}}
			kernels := []experiments.Density{{Kernel: plan.Kernel{Name: "ip-identity"}}, newKernels[0]}
			epsilons := o.Some(0.5, 1, 1.5, 2, 4)
			cells := grid(common, kernels[:1], append(ways[:5:5], curator), epsilons)
			return append(cells, grid(common, kernels[1:], ways[:1], epsilons)...)
		},
		Sections: accuracyComparison,
	}
}
