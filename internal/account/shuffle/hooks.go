package shuffle

import "github.com/confetti-dp/confetti/account"

// The hooks that the accountant must find in these events: one whose signature changed does not
// compile here.
var _ = []account.Hooks{
	{Distributions: BucketResponse{}, Certificate: BucketResponse{}, Losses: BucketResponse{}, Opened: BucketResponse{}},
	{Profile: BehindBackstop{}, Distributions: BehindBackstop{}, Certificate: BehindBackstop{}},
	{Reduce: OneHot{}, Losses: OneHot{}, Opened: OneHot{}, Replaced: OneHot{}},
	{Profile: AsymmetricResponse{}, Distributions: AsymmetricResponse{}, Certificate: AsymmetricResponse{}, Losses: AsymmetricResponse{}, Opened: AsymmetricResponse{}},
	{Profile: RandomizedResponse{}, Distributions: RandomizedResponse{}, Lattice: RandomizedResponse{}, Certificate: RandomizedResponse{}, Losses: RandomizedResponse{}, Opened: RandomizedResponse{}},
	{Reduce: FragmentedOneHot{}},
	{Profile: nearlySymmetric{}, Distributions: nearlySymmetric{}, Lattice: nearlySymmetric{}, Certificate: nearlySymmetric{}, Losses: nearlySymmetric{}, Opened: nearlySymmetric{}},
	{Profile: removedBit{}, Distributions: removedBit{}, Certificate: removedBit{}, Losses: removedBit{}},
	{Distributions: movedBit{}, Certificate: movedBit{}, Losses: movedBit{}},
	{Profile: tornBit{}, Distributions: tornBit{}, Certificate: tornBit{}},
}
