package vectors

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events, as in package shuffle.
var _ = []account.Hooks{
	{Profile: SecretRows{}, Distributions: SecretRows{}, Certificate: SecretRows{}, Together: SecretRows{}, Losses: SecretRows{}, Opened: SecretRows{}, BesideMessage: SecretRows{}, Dominated: SecretRows{}},
	{Profile: VectorResponse{}, Distributions: VectorResponse{}, Certificate: VectorResponse{}, Together: VectorResponse{}, Losses: VectorResponse{}, Opened: VectorResponse{}, BesideMessage: VectorResponse{}, Dominated: VectorResponse{}},
	{Distributions: secretBit{}},
}
