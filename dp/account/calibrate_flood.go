package account

import (
	"fmt"
	"math"
)

// CalibrateThreeNB finds noise and flood that meet the target with as little
// error as a budget of messages allows: extra is the mean number of messages
// that a user sends in one round beyond the input's own. More flood hides the
// noise better, so less noise is needed; the error falls towards that of the
// central discrete Laplace. Under PaperAccounting the flood is the published
// one and extra must be zero.
func CalibrateThreeNB(t Target, a Accounting, extra float64) (ThreeNB, Guarantee, error) {
	if err := t.check(); err != nil {
		return ThreeNB{}, Guarantee{}, err
	}
	if err := a.check(); err != nil {
		return ThreeNB{}, Guarantee{}, err
	}
	if a == PaperAccounting {
		if extra != 0 {
			return ThreeNB{}, Guarantee{}, fmt.Errorf("account: the paper's flood has its own number of messages: a budget of %v cannot be met", extra)
		}
		return paperThreeNB(t)
	}
	if !(extra > 0 && extra <= 1e6) {
		return ThreeNB{}, Guarantee{}, fmt.Errorf("account: %v extra messages per user: need 0 < extra <= 1e6", extra)
	}
	budget := extra * float64(t.Users)
	// At least half the budget is left for the flood.
	least := math.Log1p(4 / budget)
	s := search{noise: math.Sqrt2 / t.perRound(), most: laplaceRMSE(least), tolerance: 1e-3}
	find := func(shape float64) (float64, error) {
		return t.search(s, func(rmse float64) Event { return flooded(t.Users, rmse, shape, budget) })
	}
	// A large shape has thin tails and hides one message best in the middle, but
	// the flood must also be zero with probability below delta: one optimum,
	// and a flat one.
	shape := math.Exp(goldenSection(func(logShape float64) float64 {
		rmse, err := find(math.Exp(logShape))
		if err != nil {
			return math.Inf(1)
		}
		s.noise = rmse
		return rmse
	}, 0, math.Log(200), 0.2))
	s.tolerance = closeEnough
	rmse, err := find(shape)
	if err != nil {
		return ThreeNB{}, Guarantee{}, fmt.Errorf("%w with %v extra messages per user", err, extra)
	}
	return meets(t, flooded(t.Users, rmse, shape, budget))
}

// flooded has the noise of the given RMSE and spends what it leaves of the
// budget of messages on a flood of the given shape.
func flooded(users int, rmse, shape, budget float64) ThreeNB {
	// rmse = sqrt(2 e^-e)/(1-e^-e) = 1/(sqrt2 sinh(e/2)).
	noise := math.Min(50, math.Max(1e-6, 2*math.Asinh(1/(math.Sqrt2*rmse))))
	mean := (budget - 2/math.Expm1(noise)) / 2 // of the flood: r p/(1-p)
	return ThreeNB{users, noise, shape, mean / (mean + shape)}
}

// goldenSection finds the argument of the least value of a unimodal f on [low,
// high] to within tolerance.
func goldenSection(f func(float64) float64, low, high, tolerance float64) float64 {
	const ratio = 0.6180339887498949
	x, y := high-ratio*(high-low), low+ratio*(high-low)
	fx, fy := f(x), f(y)
	for high-low > tolerance {
		// Where neither end is possible, it is for want of flood at small shapes.
		if fx <= fy && !math.IsInf(fx, 1) {
			high, y, fy = y, x, fx
			x = high - ratio*(high-low)
			fx = f(x)
		} else {
			low, x, fx = x, y, fy
			y = low + ratio*(high-low)
			fy = f(y)
		}
	}
	if fx <= fy && !math.IsInf(fx, 1) {
		return x
	}
	return y
}
