package histogram

import (
	"errors"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/account/additive"
	"github.com/confetti-dp/confetti/dp/sum"
	"github.com/confetti-dp/confetti/plan"
)

// designNoised finds the least noise that keeps the budget, of the aggregators by the law
// that the plan names or the one that errs less, or of the devices.
func designNoised(p *plan.Plan, ask *plan.Histogram) error {
	if !(p.Budget.Epsilon > 0) {
		return errors.New("histogram: budget.epsilon is missing: there is noise that keeps it")
	}
	s := *p.Route.Sum // the caller's stays as it is
	p.Route.Sum = &s
	ask.Randomizer = plan.Randomizer{Name: plan.RandomizerNone, Accounting: string(account.ExactAccounting)}
	if len(ask.Attributes) > 1 && ask.Collect == "" {
		// Of A attributes, each of A times as many numbers needs A times the noise; a sampled
		// estimate is scaled up by A, and has the error of a sample beside it.
		ask.Collect = plan.CollectSplit
	}
	h, err := New(unnoised(*p))
	if err != nil {
		return err
	}
	t := account.Target{Users: 1, Rounds: h.changed(), Epsilon: p.Budget.Epsilon, Delta: p.Budget.Delta}
	if shares(*p) {
		t.Delta *= 1 - cutShare
		s, err = calibrateNoise(s, plan.LawLaplace, t)
		return err
	}
	laws := []string{s.Law}
	if s.Law == "" {
		laws = []string{plan.LawLaplace, plan.LawGaussian}
	}
	var errs []error
	least := sum.Law{}
	for _, law := range laws {
		with, err := calibrateNoise(s, law, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		q := *p
		q.Route.Sum = &with
		total, err := lawOf(q)
		if err != nil {
			return err
		}
		if least.Variance == 0 || total.Variance < least.Variance {
			least, s = total, with
		}
	}
	if least.Variance == 0 {
		return errors.Join(errs...)
	}
	return nil
}

// unnoised is a plan before its noise is known.
func unnoised(p plan.Plan) plan.Plan {
	s := *p.Route.Sum
	s.Law, s.Decay, s.Sigma = "", 0, 0
	p.Route.Sum = &s
	return p
}

// calibrateNoise is the route with the least noise of a law that meets the target. The decay
// of a discrete Laplace has a closed form (the optimal composition of pure mechanisms).
func calibrateNoise(s plan.Sum, law string, t account.Target) (plan.Sum, error) {
	s.Law, s.Decay, s.Sigma = law, 0, 0
	if law == plan.LawLaplace {
		decay, err := additive.LaplaceNoise(t)
		s.Decay = decay * (1 - 1e-9)
		return s, err
	}
	sigma, err := t.Search(account.Search{Noise: max(1, 1/t.PerRound()), Most: 5e3, Tolerance: account.CloseEnough}, func(sigma float64) account.Event {
		s.Sigma = sigma
		return hiding(s, promised(s))
	})
	s.Sigma = sigma
	return s, err
}
