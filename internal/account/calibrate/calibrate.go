// Package calibrate finds the least noise that keeps a target, by the guarantees of the accountant. Used by
// internal/account/shuffle and internal/account/additive for their mechanisms, and by question and lab.
package calibrate

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/profile"
)

// Target is what a calibration must reach: (Epsilon, Delta) after Rounds
// releases, with the noise of Users respondents.
type Target struct {
	Users   int     `json:"users"`
	Rounds  int     `json:"rounds"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

func (t Target) Check() error {
	switch {
	case t.Users < 1 || t.Users > account.MaxUsers:
		return fmt.Errorf("account: %d users: need 1 to %d", t.Users, account.MaxUsers)
	case t.Rounds < 1 || t.Rounds > profile.MaxRounds:
		return fmt.Errorf("account: %d rounds: need 1 to %d", t.Rounds, profile.MaxRounds)
	case !(t.Epsilon >= 1e-6 && t.Epsilon <= 100):
		return fmt.Errorf("account: epsilon %v: need 1e-6 to 100", t.Epsilon)
	case !(t.Delta >= 1e-200 && t.Delta <= 0.5):
		return fmt.Errorf("account: delta %v: need 1e-200 to 1/2", t.Delta)
	}
	return nil
}

// Accounting says by what argument a calibration keeps its target.
type Accounting string

const (
	// Exact composes the exact laws.
	Exact Accounting = "exact"
	// Paper is the paper's route: Theorem 3.2 of KDE, half of delta
	// for the slack and half over the rounds, with the published constants.
	Paper Accounting = "paper"
)

func (a Accounting) Check() error {
	if a != Exact && a != Paper {
		return fmt.Errorf("account: accounting %q: need %q or %q", a, Exact, Paper)
	}
	return nil
}

// CloseEnough ends a calibration: the noise is within this share of the least.
const CloseEnough = 1e-6

// Distance returns the largest distance of two normals with the target's profile, from below.
func (t Target) Distance() float64 {
	low, high := 0.0, 1.0
	for profile.Normal(high).Hockey(t.Epsilon) <= t.Delta {
		low, high = high, 2*high
	}
	for high-low > 0x1p-52*high {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if profile.Normal(mid).Hockey(t.Epsilon) <= t.Delta {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// Meets recomputes the guarantee of the event that a search returned.
func Meets[E account.Event](t Target, e E) (E, account.Guarantee, error) {
	g, err := account.Epsilon(account.Repeat{Event: e, Rounds: t.Rounds}, t.Delta)
	if err != nil {
		return e, account.Guarantee{}, err
	}
	if g.Epsilon > t.Epsilon {
		return e, account.Guarantee{}, fmt.Errorf("account: calibration ended at epsilon %v above the target %v: %T cannot be calibrated there", g.Epsilon, t.Epsilon, e)
	}
	return e, g, nil
}

// PerRound returns the distance of the Gaussian that meets the target in one round.
func (t Target) PerRound() float64 { return t.Distance() / math.Sqrt(float64(t.Rounds)) }

// Search says where to look for the least noise.
type Search struct {
	Noise     float64 // first guess
	Most      float64 // more is not possible
	Tolerance float64 // share of the noise that may be too much
}

// Least finds the smallest noise, as the RMSE of one release, whose guarantee
// meets the target, from the Gaussian of the same profile on.
func (t Target) Least(event func(rmse float64) account.Event) (float64, error) {
	return t.Search(Search{Noise: 1 / t.PerRound(), Most: math.Inf(1), Tolerance: CloseEnough}, event)
}

// Search returns a secant in logarithms, where epsilon is nearly a straight line,
// inside a bracket whose upper end always meets the target.
func (t Target) Search(s Search, event func(rmse float64) account.Event) (float64, error) {
	target, most := math.Log(t.Epsilon), math.Log(s.Most)
	excess := func(x float64) float64 {
		g, err := account.Epsilon(account.Repeat{Event: event(math.Exp(x)), Rounds: t.Rounds}, t.Delta)
		switch {
		case err != nil:
			return math.Inf(1) // too little noise may have no finite epsilon at all
		case profile.Keeps(g.Epsilon, t.Epsilon):
			return math.Min(0, math.Log(g.Epsilon)-target)
		}
		return math.Max(0x1p-53, math.Log(g.Epsilon)-target)
	}
	x := math.Min(most, math.Log(s.Noise))
	low, high := math.Inf(-1), math.Inf(1) // unsafe and safe noise, in logarithms
	var above, below float64               // excess at low and at high
	for range 200 {
		e := excess(x)
		if e <= 0 {
			high, below = x, e
		} else {
			low, above = x, e
		}
		switch {
		case high-low <= s.Tolerance:
			return math.Exp(high), nil
		case math.IsInf(high, 1):
			if x == most {
				return 0, fmt.Errorf("account: no noise within reach meets epsilon %v at delta %v over %d rounds", t.Epsilon, t.Delta, t.Rounds)
			}
			x = math.Min(most, x+math.Min(2, math.Max(s.Tolerance, 1.1*e)))
		case math.IsInf(low, -1):
			if x < -50 {
				return math.Exp(high), nil // no noise is needed at all
			}
			x -= math.Min(2, math.Max(s.Tolerance, -1.1*e))
		default:
			x = (low + high) / 2
			if above < 50 && below > -50 {
				// A little to the safe side, so that the bracket closes from both.
				x = low + (high-low)*above/(above-below) + s.Tolerance/3
			}
			margin := math.Min(s.Tolerance/3, (high-low)/4)
			x = math.Min(high-margin, math.Max(low+margin, x))
		}
	}
	return 0, fmt.Errorf("account: no calibration to epsilon %v at delta %v over %d rounds", t.Epsilon, t.Delta, t.Rounds)
}
