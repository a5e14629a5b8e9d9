package shuffle

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/pld"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// rounding is how far apart the probabilities of a bit's two flips may be that are meant to be one: a
// plan states Flip and one less it, each to its own last digit.
const rounding = 0x1p-48

// nearlySymmetric is a bit whose two probabilities of a flip are one but for rounding. It is a function,
// and chance, of a bit flipped with the smaller; a bit flipped with the larger is one of it. So randomized
// response of the smaller bounds it from above, and of the larger from below. Otherwise the last digit
// would choose the grid, and move a promise by more than a calibration leaves (docs/accounting.md, 7).
type nearlySymmetric struct{ AsymmetricResponse }

// symmetric returns the randomized response that bounds it.
func (e nearlySymmetric) symmetric(lower bool) RandomizedResponse {
	if lower {
		return RandomizedResponse{e.Users, math.Max(1-e.Keep, e.Flip)}
	}
	return RandomizedResponse{e.Users, math.Min(1-e.Keep, e.Flip)}
}

func (e nearlySymmetric) Spread() float64  { return e.symmetric(false).Spread() }
func (e nearlySymmetric) Lattice() float64 { return e.symmetric(false).Lattice() }

func (e nearlySymmetric) Profile(rounds int, o account.Options) (profile.Curve, account.Bound, error) {
	return e.symmetric(o.Lower).Profile(rounds, o)
}

func (e nearlySymmetric) Distributions(o account.Options) ([]*pld.Distribution, error) {
	return e.symmetric(o.Lower).Distributions(o)
}

// Opened: the opened bit is that of a respondent whom nobody else hides.
func (e nearlySymmetric) Opened(rounds int) (rest []account.Event, alone account.Event) {
	_, alone = e.AsymmetricResponse.Opened(rounds)
	return less(e, rounds), alone
}
