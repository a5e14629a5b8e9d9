// Package sumprivacy computes what the noise in a sum hides: the event of the noise, the law of errors, and the
// least noise that keeps a budget. Used by question/histogram, question/strings, internal/dp/routes
// and internal/audit, where aggregators or devices add noise.
package sumprivacy

import (
	"errors"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/plan"
)

// Aggregators returns the event of one number, or of all numbers of all correlated rounds, where the noise of so many aggregators, 1 or 2, is
// not known, or of the 1 holder of a table.
func Aggregators(s plan.Sum, unknown int) account.Event {
	if s.Correlated != nil {
		rows, err := NewRows(*s.Correlated, s.Circuit.Length)
		if err != nil {
			return additive.GaussianRows{} // whose terms are refused
		}
		return rows.Event(s, unknown)
	}
	if s.Law == plan.LawGaussian {
		if unknown == 1 {
			return additive.DiscreteGaussian{Sigma: s.Sigma, Sensitivity: 1}
		}
		return additive.DistributedGaussian{Users: unknown, Sigma: s.Sigma, Sensitivity: 1}
	}
	shares := float64(unknown)
	if s.Noise == plan.NoiseShared {
		shares /= 2
	}
	if shares == 1 {
		return additive.DiscreteLaplace{Noise: s.Decay, Sensitivity: 1}
	}
	return additive.LaplaceShares{Noise: s.Decay, Shares: shares}
}

// Holder returns the event of one number with the noise of a table's holder, which neighbours move by one:
// tables that differ in one row that is exchanged, or in one that is there or not.
func Holder(s plan.Sum, neighbours account.Adjacency) account.Event {
	switch e := Aggregators(s, 1).(type) {
	case additive.DiscreteGaussian:
		e.Adjacency = neighbours
		return e
	case additive.DiscreteLaplace:
		e.Adjacency = neighbours
		return e
	default:
		return e
	}
}

// Promised returns how many aggregators' noise the promise counts on.
func Promised(s plan.Sum) int {
	if s.Noise == plan.NoiseShared {
		return 2
	}
	return 1
}

// Calibrate finds the least noise with which a plan keeps its budget, where a respondent who
// is exchanged for another changes so many numbers by one: of the aggregators by the law that
// the plan names or the one that errs less, or of the devices, or of the holder of a table.
func Calibrate(p plan.Plan, changed int) (plan.Sum, error) {
	s := *p.Route.Noise()
	t := calibrate.Target{Users: 1, Rounds: changed, Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta}
	if s.Noise == plan.NoiseDevices {
		t.Delta *= 1 - cutShare
		return leastOf(s, plan.LawLaplace, t)
	}
	laws := []string{s.Law}
	if s.Law == "" {
		laws = []string{plan.LawLaplace, plan.LawGaussian}
	}
	var errs []error
	least := sum.Law{}
	for _, law := range laws {
		with, err := leastOf(s, law, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if total := sum.Total(with); least.Variance == 0 || total.Variance < least.Variance {
			least, s = total, with
		}
	}
	if least.Variance == 0 {
		return s, errors.Join(errs...)
	}
	return s, nil
}

// leastOf returns the route with the least noise of a law that meets the target. The decay of a
// discrete Laplace has a closed form (the optimal composition of pure mechanisms).
func leastOf(s plan.Sum, law string, t calibrate.Target) (plan.Sum, error) {
	s.Law, s.Decay, s.Sigma = law, 0, 0
	if law == plan.LawLaplace {
		decay, err := additive.LaplaceNoise(t)
		s.Decay = decay * (1 - 1e-9)
		return s, err
	}
	sigma, err := t.Search(calibrate.Search{Noise: max(1, 1/t.PerRound()), Most: 5e3, Tolerance: calibrate.CloseEnough}, func(sigma float64) account.Event {
		s.Sigma = sigma
		return Aggregators(s, Promised(s))
	})
	s.Sigma = sigma
	return s, err
}
