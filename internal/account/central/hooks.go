package central

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Profile: Laplace{}, Distributions: Laplace{}, Renyi: Laplace{}},
	{Profile: Gaussian{}, Distributions: Gaussian{}, Renyi: Gaussian{}},
	{Distributions: SubsampledGaussian{}, Renyi: SubsampledGaussian{}},
}
