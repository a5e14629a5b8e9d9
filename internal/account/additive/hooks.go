package additive

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Profile: DiscreteGaussian{}, Distributions: DiscreteGaussian{}, Renyi: DiscreteGaussian{}},
	{Profile: DiscreteLaplace{}, Distributions: DiscreteLaplace{}},
	{Distributions: LaplaceShares{}},
	{Reduce: DistributedLaplace{}},
	{Distributions: DistributedGaussian{}},
	{Profile: GaussianRows{}, Dominated: GaussianRows{}},
	{Profile: SummedVector{}, Distributions: SummedVector{}, Dominated: SummedVector{}},
}
