package account

import (
	"fmt"
	"math"
)

// Target is what a calibration must reach: (Epsilon, Delta) after Rounds
// releases, with the noise of Users respondents.
type Target struct {
	Users   int     `json:"users"`
	Rounds  int     `json:"rounds"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

func (t Target) check() error {
	switch {
	case t.Users < 1 || t.Users > maxUsers:
		return fmt.Errorf("account: %d users: need 1 to %d", t.Users, maxUsers)
	case t.Rounds < 1 || t.Rounds > maxRounds:
		return fmt.Errorf("account: %d rounds: need 1 to %d", t.Rounds, maxRounds)
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
	// ExactAccounting composes the exact laws.
	ExactAccounting Accounting = "exact"
	// PaperAccounting is the paper's route: Theorem 3.2 of KDE, half of delta
	// for the slack and half over the rounds, with the published constants.
	PaperAccounting Accounting = "paper"
)

func (a Accounting) check() error {
	if a != ExactAccounting && a != PaperAccounting {
		return fmt.Errorf("account: accounting %q: need %q or %q", a, ExactAccounting, PaperAccounting)
	}
	return nil
}

// closeEnough ends a calibration: the noise is within this share of the least.
const closeEnough = 1e-6

// CalibrateRR finds the smallest flip probability that meets the target, and
// the guarantee of exactly that probability, recomputed: never above it.
func CalibrateRR(t Target, a Accounting) (RandomizedResponse, Guarantee, error) {
	if err := t.check(); err != nil {
		return RandomizedResponse{}, Guarantee{}, err
	}
	if err := a.check(); err != nil {
		return RandomizedResponse{}, Guarantee{}, err
	}
	if a == PaperAccounting {
		return paperRR(t)
	}
	event := func(rmse float64) RandomizedResponse {
		return RandomizedResponse{t.Users, flipFor(rmse * rmse / float64(t.Users))}
	}
	rmse, err := t.least(func(rmse float64) Event { return event(rmse) })
	if err != nil {
		return RandomizedResponse{}, Guarantee{}, err
	}
	return meets(t, event(rmse))
}

// CalibrateOneHot is CalibrateRR for one-hot reports, one message per coordinate.
func CalibrateOneHot(t Target, adjacency Adjacency) (OneHot, Guarantee, error) {
	return t.oneHot(adjacency, 0)
}

// CalibrateAsymmetricOneHot is CalibrateOneHot where a set bit is sent with
// probability keep, in (0, 1), and the probability that one not set is sent is
// the smallest that meets the target.
func CalibrateAsymmetricOneHot(t Target, keep float64, adjacency Adjacency) (OneHot, Guarantee, error) {
	if !(keep > minFlip && keep <= 1-minFlip) {
		return OneHot{}, Guarantee{}, fmt.Errorf("account: a set bit sent with probability %v: need a number between 0 and 1", keep)
	}
	return t.oneHot(adjacency, keep)
}

// oneHot looks for the least noise of a coordinate; keep is 0 for symmetric bits.
func (t Target) oneHot(adjacency Adjacency, keep float64) (OneHot, Guarantee, error) {
	if err := t.check(); err != nil {
		return OneHot{}, Guarantee{}, err
	}
	event := func(rmse float64) OneHot {
		e := OneHot{Users: t.Users, Adjacency: adjacency, Keep: keep}
		if v := rmse * rmse / float64(t.Users); keep == 0 {
			e.Flip = flipFor(v)
		} else {
			// v = q(1-q)/(keep-q)^2, of an empty cell, solved for q without cancellation.
			q := 2 * v * keep * keep / (1 + 2*v*keep + math.Sqrt(1+4*v*keep*(1-keep)))
			e.Flip = math.Min(keep*(1-0x1p-30), math.Max(minFlip, q))
		}
		return e
	}
	if _, err := event(1).event(); err != nil {
		return OneHot{}, Guarantee{}, err
	}
	rmse, err := t.least(func(rmse float64) Event { return event(rmse) })
	if err != nil {
		return OneHot{}, Guarantee{}, err
	}
	return meets(t, event(rmse))
}

// flipFor is the flip probability p of a bit with v = p(1-p)/(1-2p)^2, solved
// without cancellation.
func flipFor(v float64) float64 {
	y := 1 + 4*v
	return math.Min(0.5, math.Max(minFlip, 2*v/(y+math.Sqrt(y))))
}

// CalibrateLocal finds the largest local epsilon that meets the target, to a
// millionth of it: of whole reports, what they are told apart by is not among the
// parameters. The event is what the accountant is told of one round.
func CalibrateLocal(t Target, event func(local float64) Event) (local float64, g Guarantee, err error) {
	if err := t.check(); err != nil {
		return 0, Guarantee{}, err
	}
	// In the end a report cannot tell more alone than among others: basic composition.
	start := math.Min(maxShuffledEpsilon, math.Max(minShuffledEpsilon, t.Epsilon/float64(t.Rounds)))
	s := search{noise: 1 / start, most: 1 / minShuffledEpsilon, tolerance: closeEnough}
	noise, err := t.search(s, func(noise float64) Event { return event(1 / noise) })
	if err != nil {
		return 0, Guarantee{}, err
	}
	_, g, err = meets(t, event(1/noise))
	return 1 / noise, g, err
}

// CalibrateGaussian finds the smallest deviation for a sum of the given
// two-norm sensitivity in each of the target's rounds. Users is not used.
func CalibrateGaussian(t Target, sensitivity float64) (Gaussian, Guarantee, error) {
	t.Users = max(1, t.Users)
	if err := t.check(); err != nil {
		return Gaussian{}, Guarantee{}, err
	}
	if !(sensitivity > 0 && sensitivity <= 1e100) {
		return Gaussian{}, Guarantee{}, fmt.Errorf("account: sensitivity %v: need 0 < s <= 1e100", sensitivity)
	}
	root := math.Sqrt(float64(t.Rounds))
	e := Gaussian{sensitivity * root / t.mu(), sensitivity}
	// The guarantee recomputed from sigma must not exceed the target by rounding.
	for step := 0x1p-50; step < 1e-6; step *= 2 {
		if e, g, err := meets(t, e); err == nil {
			return e, g, nil
		}
		e.Sigma *= 1 + step
	}
	return meets(t, e)
}

// mu is the largest distance of two normals with the target's profile, from below.
func (t Target) mu() float64 {
	low, high := 0.0, 1.0
	for normal(high).hockey(t.Epsilon) <= t.Delta {
		low, high = high, 2*high
	}
	for high-low > 0x1p-52*high {
		mid := low + (high-low)/2
		if mid == low || mid == high {
			break
		}
		if normal(mid).hockey(t.Epsilon) <= t.Delta {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// meets recomputes the guarantee of the event that a search returned.
func meets[E Event](t Target, e E) (E, Guarantee, error) {
	g, err := Epsilon(Repeat{e, t.Rounds}, t.Delta)
	if err != nil {
		return e, Guarantee{}, err
	}
	if g.Epsilon > t.Epsilon {
		return e, Guarantee{}, fmt.Errorf("account: calibration ended at epsilon %v above the target %v: %T cannot be calibrated there", g.Epsilon, t.Epsilon, e)
	}
	return e, g, nil
}

// perRound is the distance of the Gaussian that meets the target in one round.
func (t Target) perRound() float64 { return t.mu() / math.Sqrt(float64(t.Rounds)) }

// search says where to look for the least noise.
type search struct {
	noise     float64 // first guess
	most      float64 // more is not possible
	tolerance float64 // share of the noise that may be too much
}

// least finds the smallest noise, as the RMSE of one release, whose guarantee
// meets the target, from the Gaussian of the same profile on.
func (t Target) least(event func(rmse float64) Event) (float64, error) {
	return t.search(search{noise: 1 / t.perRound(), most: math.Inf(1), tolerance: closeEnough}, event)
}

// search is a secant in logarithms, where epsilon is nearly a straight line,
// inside a bracket whose upper end always meets the target.
func (t Target) search(s search, event func(rmse float64) Event) (float64, error) {
	target, most := math.Log(t.Epsilon), math.Log(s.most)
	excess := func(x float64) float64 {
		g, err := Epsilon(Repeat{event(math.Exp(x)), t.Rounds}, t.Delta)
		switch {
		case err != nil:
			return math.Inf(1) // too little noise may have no finite epsilon at all
		case g.Epsilon <= t.Epsilon:
			return math.Min(0, math.Log(g.Epsilon)-target)
		}
		return math.Max(0x1p-53, math.Log(g.Epsilon)-target)
	}
	x := math.Min(most, math.Log(s.noise))
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
		case high-low <= s.tolerance:
			return math.Exp(high), nil
		case math.IsInf(high, 1):
			if x == most {
				return 0, fmt.Errorf("account: no noise within reach meets epsilon %v at delta %v over %d rounds", t.Epsilon, t.Delta, t.Rounds)
			}
			x = math.Min(most, x+math.Min(2, math.Max(s.tolerance, 1.1*e)))
		case math.IsInf(low, -1):
			if x < -50 {
				return math.Exp(high), nil // no noise is needed at all
			}
			x -= math.Min(2, math.Max(s.tolerance, -1.1*e))
		default:
			x = (low + high) / 2
			if above < 50 && below > -50 {
				// A little to the safe side, so that the bracket closes from both.
				x = low + (high-low)*above/(above-below) + s.tolerance/3
			}
			margin := math.Min(s.tolerance/3, (high-low)/4)
			x = math.Min(high-margin, math.Max(low+margin, x))
		}
	}
	return 0, fmt.Errorf("account: no calibration to epsilon %v at delta %v over %d rounds", t.Epsilon, t.Delta, t.Rounds)
}
