package additive

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Profile: DiscreteGaussian{}, Distributions: DiscreteGaussian{}, Renyi: DiscreteGaussian{}},
	{Profile: Laplace{}, Distributions: Laplace{}, Renyi: Laplace{}},
	{Profile: DiscreteLaplace{}, Distributions: DiscreteLaplace{}},
	{Profile: Gaussian{}, Distributions: Gaussian{}, Renyi: Gaussian{}},
	{Distributions: LaplaceShares{}},
	{Distributions: SubsampledGaussian{}, Renyi: SubsampledGaussian{}},
	{Reduce: DistributedLaplace{}},
	{Distributions: DistributedGaussian{}},
}
