package amplify

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Profile: KaryResponse{}, Distributions: KaryResponse{}, Losses: KaryResponse{}},
	{Profile: FavouredResponse{}, Distributions: FavouredResponse{}, Losses: FavouredResponse{}},
	{Profile: GaussianReport{}, Distributions: GaussianReport{}, Dominated: GaussianReport{}},
	{Profile: AnyRandomizer{}, Distributions: AnyRandomizer{}, Losses: AnyRandomizer{}},
}
