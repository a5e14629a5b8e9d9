package bitnoise

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Profile: Pure{}, Distributions: Pure{}},
	{Distributions: NegativeBinomialSum{}},
	{Distributions: ThinnedNegativeBinomialSum{}},
	{Profile: PoissonSum{}, Distributions: PoissonSum{}},
	{Profile: ThreeNB{}, Distributions: ThreeNB{}, Lattice: ThreeNB{}, Losses: ThreeNB{}},
}
