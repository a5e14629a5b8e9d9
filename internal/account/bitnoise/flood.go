package bitnoise

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/theorems"
)

// CalibrateThreeNB finds noise and flood that meet the target with as little
// error as a budget of messages allows: extra is the mean number of messages
// that a user sends in one round beyond the input's own. More flood hides the
// noise better, so less noise is needed; the error falls towards that of the
// central discrete Laplace. Under PaperAccounting the flood is the published
// one and extra must be zero.
func CalibrateThreeNB(t calibrate.Target, a calibrate.Accounting, extra float64) (ThreeNB, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return ThreeNB{}, account.Guarantee{}, err
	}
	if err := a.Check(); err != nil {
		return ThreeNB{}, account.Guarantee{}, err
	}
	if a == calibrate.Paper {
		if extra != 0 {
			return ThreeNB{}, account.Guarantee{}, fmt.Errorf("account: the paper's flood has its own number of messages: a budget of %v cannot be met", extra)
		}
		return paperThreeNB(t)
	}
	if !(extra > 0 && extra <= 1e6) {
		return ThreeNB{}, account.Guarantee{}, fmt.Errorf("account: %v extra messages per user: need 0 < extra <= 1e6", extra)
	}
	budget := extra * float64(t.Users)
	// At least half the budget is left for the flood.
	least := math.Log1p(4 / budget)
	s := calibrate.Search{Noise: math.Sqrt2 / t.PerRound(), Most: additive.DiscreteLaplace{Noise: least}.RMSE(), Tolerance: 1e-3}
	find := func(shape float64) (float64, error) {
		return t.Search(s, func(rmse float64) account.Event { return flooded(t.Users, rmse, shape, budget) })
	}
	// A large shape has thin tails and hides one message best in the middle, but
	// the flood must also be zero with probability below delta: one optimum,
	// and a flat one.
	shape := math.Exp(goldenSection(func(logShape float64) float64 {
		rmse, err := find(math.Exp(logShape))
		if err != nil {
			return math.Inf(1)
		}
		s.Noise = rmse
		return rmse
	}, 0, math.Log(200), 0.2))
	s.Tolerance = calibrate.CloseEnough
	rmse, err := find(shape)
	if err != nil {
		return ThreeNB{}, account.Guarantee{}, fmt.Errorf("%w with %v extra messages per user", err, extra)
	}
	return calibrate.Meets(t, flooded(t.Users, rmse, shape, budget))
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
		// Where neither end is possible, small shapes have too little flood.
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

// paperThreeNB takes the constants of KDE, Appendix A.2, for each round. The
// appendix leaves a constant of the flood open, so its claim for one round is
// checked exactly before it is composed.
func paperThreeNB(t calibrate.Target) (ThreeNB, account.Guarantee, error) {
	epsilon0, delta0 := theorems.KDERound(t)
	flood, err := KDEAppendixA2(epsilon0, delta0, KDEPrintedShare)
	if err != nil {
		return ThreeNB{}, account.Guarantee{}, err
	}
	e := ThreeNB{t.Users, flood.Noise, flood.Shape, flood.Prob}
	bitsum, err := account.Delta(e, epsilon0)
	if err != nil {
		return ThreeNB{}, account.Guarantee{}, err
	}
	if bitsum.Delta > delta0 {
		return ThreeNB{}, account.Guarantee{}, fmt.Errorf("account: the constants of KDE, Appendix A.2, give delta %.3g in a round at epsilon %.3g, not the %.3g that Theorem 3.2 needs", bitsum.Delta, epsilon0, delta0)
	}
	bitsum.Delta = delta0
	bitsum.Method, bitsum.Source = "3NB, constants of Appendix A.2", "KDE, Appendix A.2; each round checked exactly"
	g, err := theorems.KDETheorem32(bitsum, 1, t.Rounds, t.Delta/2)
	return e, g, err
}

// The flood of 3NB costs messages, and spares noise: with these, the error is
// within some 2 % of the discrete Laplace's, to which it tends. The deviation of
// a negative binomial of shape r is its mean over sqrt r, so a mean of 50/e1
// gives the flood a dozen times the noise's.
const (
	floodPerNoise = 100 // messages of all users together, times e1
	floodAtLeast  = 1000
)

// FloodShape needs few messages and has light tails: a larger one would need more
// messages to hide the noise, a smaller one has a heavier tail, for which every device
// must keep envelopes.
const FloodShape = 12

// CalibrateFlooded is CalibrateThreeNB with exact accounting at a given shape of the
// flood, without looking for the best.
func CalibrateFlooded(t calibrate.Target, extra, shape float64) (ThreeNB, account.Guarantee, error) {
	event := func(rmse float64) ThreeNB { return flooded(t.Users, rmse, shape, extra*float64(t.Users)) }
	rmse, err := t.Least(func(rmse float64) account.Event { return event(rmse) })
	if err != nil {
		return ThreeNB{}, account.Guarantee{}, err
	}
	return calibrate.Meets(t, event(rmse))
}

// FloodMessages returns a number of extra messages, per user and round, at which 3NB
// comes within some 2 % of the error of the discrete Laplace: what to ask of
// CalibrateThreeNB unless messages are dear.
func FloodMessages(t calibrate.Target) (float64, error) {
	if err := t.Check(); err != nil {
		return 0, err
	}
	e1, err := additive.LaplaceNoise(t)
	return (2/math.Expm1(e1) + floodPerNoise/e1 + floodAtLeast) / float64(t.Users), err
}

// pureTheta is the share of epsilon that Pure spends on hiding who dropped out.
// The authors' 0.5 % makes some 40 times the messages for a fifth less error.
const pureTheta = 0.2

// CalibratePure finds the pure protocol whose rounds meet the target together by
// the optimal composition theorem, with the drop probability of its authors.
func CalibratePure(t calibrate.Target) (Pure, account.Guarantee, error) {
	if err := t.Check(); err != nil {
		return Pure{}, account.Guarantee{}, err
	}
	epsilon0, err := additive.LaplaceNoise(t)
	if err != nil {
		return Pure{}, account.Guarantee{}, err
	}
	published, err := PublishedPure(t.Users, epsilon0, 0.5)
	if err != nil {
		return Pure{}, account.Guarantee{}, err
	}
	e, err := NewPure(t.Users, epsilon0, pureTheta*epsilon0, published.Drop)
	if err != nil {
		return Pure{}, account.Guarantee{}, err
	}
	return calibrate.Meets(t, e)
}
