package shuffle

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/accounttest"
	"github.com/confetti-dp/confetti/internal/account/pld"
)

// stick is the hockey stick of losses at epsilon.
func stick(atoms []pld.Atom, epsilon float64) (delta float64) {
	for _, a := range atoms {
		delta += a.Mass * math.Max(0, -math.Expm1(epsilon-a.Loss))
	}
	return delta
}

// A bit whose ones and zeros are flipped by different chances tells no more than randomized response of the smaller,
// and no less than of the larger: here of chances far apart, in every data set of six, in both directions.
func TestABitTellsLessThanOneOfFewerFlips(t *testing.T) {
	const users = 6
	for _, c := range []struct{ drop, flip float64 }{{0.1, 0.2}, {0.2, 0.1}, {0.05, 0.3}, {0.4, 0.01}} {
		strict := false
		for ones := range users {
			of := func(drop, flip float64) [2][]pld.Atom {
				falling, rising := bit{1 - drop, drop, flip, 1 - flip}.atoms(users, ones, account.Options{Neglect: 1e-30})
				return [2][]pld.Atom{falling, rising}
			}
			least, most := math.Min(c.drop, c.flip), math.Max(c.drop, c.flip)
			fewer, told, more := of(least, least), of(c.drop, c.flip), of(most, most)
			for way := range told {
				for epsilon := 0.; epsilon < 3; epsilon += 0.05 {
					low, at, high := stick(more[way], epsilon), stick(told[way], epsilon), stick(fewer[way], epsilon)
					if low > at*(1+1e-12)+1e-15 || at > high*(1+1e-12)+1e-15 {
						t.Errorf("%+v, %d ones, epsilon %v: %v, and %v and %v of symmetric bits", c, ones, epsilon, at, low, high)
					}
					strict = strict || low < 0.9*at && at < 0.9*high
				}
			}
		}
		if !strict {
			t.Errorf("%+v: symmetric bits tell the same: the test has no power", c)
		}
	}
}

// The last digits of a bit's probabilities do not decide what a promise is: by two grids it moved by up to 6e-6 of itself.
func TestLastDigitsMoveNoPromise(t *testing.T) {
	for _, adjacency := range []account.Adjacency{account.Removal, account.Replacement} {
		for _, flip := range []float64{0.03, 0.1, 1. / 3} {
			for _, rounds := range []int{1, 2, 40} {
				epsilon := func(of func(account.Event, float64) (account.Guarantee, error), keep float64) float64 {
					e := OneHot{Users: 500, Flip: flip, Keep: keep, Adjacency: adjacency}
					return accounttest.EpsilonFrom(t, of, account.Repeat{Event: e, Rounds: rounds}, 1e-6)
				}
				whole := epsilon(account.Epsilon, 0)
				for ulps := -4; ulps <= 4; ulps++ {
					keep := 1 - flip + float64(ulps)*0x1p-53
					if e := epsilon(account.Epsilon, keep); math.Abs(e/whole-1) > 1e-10 {
						t.Errorf("%s, flip %v, %d rounds, %d units: epsilon %.10g, and %.10g of one", adjacency, flip, rounds, ulps, e, whole)
					}
					if e := epsilon(account.LowerEpsilon, keep); e < 0.96*whole || e > whole {
						t.Errorf("%s, flip %v, %d rounds, %d units: epsilon from %.10g to %.10g", adjacency, flip, rounds, ulps, e, whole)
					}
				}
			}
		}
	}
}
