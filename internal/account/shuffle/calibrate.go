package shuffle

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// CalibrateRR finds the smallest flip probability that meets the target, and
// the guarantee of exactly that probability, recomputed: never above it.
func CalibrateRR(t calibrate.Target, a calibrate.Accounting) (RandomizedResponse, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return RandomizedResponse{}, account.Guarantee{}, err
	}
	if err := a.Check(); err != nil {
		return RandomizedResponse{}, account.Guarantee{}, err
	}
	if a == calibrate.Paper {
		return paperRR(t)
	}
	event := func(rmse float64) RandomizedResponse {
		return RandomizedResponse{t.Users, FlipFor(rmse * rmse / float64(t.Users))}
	}
	rmse, err := t.Least(func(rmse float64) account.Event { return event(rmse) })
	if err != nil {
		return RandomizedResponse{}, account.Guarantee{}, err
	}
	return calibrate.Meets(t, event(rmse))
}

// CalibrateOneHot is CalibrateRR for one-hot reports, one message per coordinate.
func CalibrateOneHot(t calibrate.Target, adjacency account.Adjacency) (OneHot, account.Guarantee, error) {
	return calibrateOneHot(t, adjacency, 0)
}

// CalibrateAsymmetricOneHot is CalibrateOneHot where a set bit is sent with
// probability keep, in (0, 1), and the probability that one not set is sent is
// the smallest that meets the target.
func CalibrateAsymmetricOneHot(t calibrate.Target, keep float64, adjacency account.Adjacency) (OneHot, account.Guarantee, error) {
	if !(keep > minFlip && keep <= 1-minFlip) {
		return OneHot{}, account.Guarantee{}, fmt.Errorf("account: a set bit sent with probability %v: need a number between 0 and 1", keep)
	}
	return calibrateOneHot(t, adjacency, keep)
}

// calibrateOneHot looks for the least noise of a coordinate; keep is 0 for symmetric bits.
func calibrateOneHot(t calibrate.Target, adjacency account.Adjacency, keep float64) (OneHot, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return OneHot{}, account.Guarantee{}, err
	}
	event := func(rmse float64) OneHot {
		e := OneHot{Users: t.Users, Adjacency: adjacency, Keep: keep}
		if v := rmse * rmse / float64(t.Users); keep == 0 {
			e.Flip = FlipFor(v)
		} else {
			// v = q(1-q)/(keep-q)^2, of an empty cell, solved for q without cancellation.
			q := 2 * v * keep * keep / (1 + 2*v*keep + math.Sqrt(1+4*v*keep*(1-keep)))
			e.Flip = math.Min(keep*(1-0x1p-30), math.Max(minFlip, q))
		}
		return e
	}
	if _, err := event(1).Terms(); err != nil {
		return OneHot{}, account.Guarantee{}, err
	}
	rmse, err := t.Least(func(rmse float64) account.Event { return event(rmse) })
	if err != nil {
		return OneHot{}, account.Guarantee{}, err
	}
	return calibrate.Meets(t, event(rmse))
}

// FlipFor returns the flip probability p of a bit with v = p(1-p)/(1-2p)^2, solved
// without cancellation.
func FlipFor(v float64) float64 {
	y := 1 + 4*v
	return math.Min(0.5, math.Max(minFlip, 2*v/(y+math.Sqrt(y))))
}

// paperRR takes the flip probability of Cheu et al., Lemma 4.8, for each round,
// and claims what Theorem 3.2 of KDE makes of it. Outside the lemma's domain it
// is an error, where the authors' code goes on.
func paperRR(t calibrate.Target) (RandomizedResponse, account.Guarantee, error) {
	epsilon0, delta0 := theorems.KDERound(t)
	lambda, err := theorems.CheuLemma48(t.Users, epsilon0, delta0)
	if err != nil {
		return RandomizedResponse{}, account.Guarantee{}, err
	}
	bitsum := account.Guarantee{
		Epsilon: epsilon0, Delta: delta0, Adjacency: account.Replacement, Trust: account.Shuffled, Users: t.Users, Rounds: 1,
		Bound: account.Upper, Method: "randomized response, Lemma 4.8", Source: "Cheu et al. 2019, Lemma 4.8",
	}
	g, err := theorems.KDETheorem32(bitsum, 1, t.Rounds, t.Delta/2)
	return RandomizedResponse{t.Users, lambda / (2 * float64(t.Users))}, g, err
}

// LocalFlip returns the least flip probability, up to most, with which an event keeps a local
// epsilon. The more flips, the less it tells.
func LocalFlip(epsilon, most float64, event func(flip float64) account.Event) (float64, error) {
	if !(epsilon >= 1e-6 && epsilon <= 1e6) {
		return 0, fmt.Errorf("account: local epsilon %v: need 1e-6 to 1e6", epsilon)
	}
	low, high := math.Log(minFlip), math.Log(most)
	keeps := func(x float64) (bool, error) {
		local, err := account.LocalEpsilon(event(math.Exp(x)))
		return err == nil && local <= epsilon, err
	}
	if ok, err := keeps(high); err != nil || !ok {
		if err == nil {
			err = fmt.Errorf("account: no flip probability up to %v keeps a local epsilon of %v", most, epsilon)
		}
		return 0, err
	}
	for high-low > 1e-12 {
		middle := (low + high) / 2
		if ok, _ := keeps(middle); ok { // vectors of the least flips are refused
			high = middle
		} else {
			low = middle
		}
	}
	return math.Exp(high), nil
}
