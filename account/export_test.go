package account

// What the tests of this package see beside its exported names. They stand outside of it,
// since the events they account for do.
var (
	LeastShift  = leastShift
	GaussPower  = gaussPower
	OwnLosses   = ownLosses
	Dominations = dominations
)
