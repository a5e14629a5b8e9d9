package sumprivacy

import (
	"fmt"
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/profile"
	"github.com/confetti-dp/confetti/plan"
)

// Vectors returns the event of sums of vectors of so many whole numbers, seen by somebody who does not know the noise of
// so many aggregators, 1 or 2. Any two vectors are at most the root of a squared shift apart.
func Vectors(s plan.Sum, unknown int, squaredShift float64, numbers int) account.Event {
	return additive.SummedVector{Sigma: s.Sigma, Parties: unknown, SquaredShift: squaredShift, Numbers: numbers}
}

// CalibrateVectors finds the least Gaussian noise of aggregators that keeps a plan's budget in so many rounds of the same
// respondents together.
func CalibrateVectors(p plan.Plan, rounds int, squaredShift float64, numbers int) (plan.Sum, error) {
	s := *p.Route.Noise()
	if s.Noise == plan.NoiseDevices || s.Law == plan.LawLaplace {
		return s, fmt.Errorf("sum: of vectors of several numbers aggregators add Gaussian noise: leave out route.sum.law, and set route.sum.noise to %q", plan.NoiseAggregators)
	}
	t := calibrate.Target{Users: 1, Rounds: rounds, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta}
	if err := t.Check(); err != nil {
		return s, err
	}
	s.Law, s.Decay = plan.LawGaussian, 0
	for distance := t.PerRound(); ; distance *= 1 - 1e-9 {
		s.Sigma = math.Sqrt((squaredShift/(distance*distance) + 4) / float64(Promised(s)))
		g, err := account.Epsilon(account.Repeat{Event: Vectors(s, Promised(s), squaredShift, numbers), Rounds: rounds}, t.Delta)
		if err != nil {
			return s, err
		}
		if profile.Keeps(g.Epsilon, t.Epsilon) {
			return s, nil
		}
	}
}
