package sumprivacy

import (
	"math"
	"sync"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/counter"
	"github.com/confetti-dp/confetti/plan"
)

// Rows are what aggregators tell in the rounds of a study that hang together (plan.Correlated).
type Rows struct {
	*counter.Counter
	moved func() float64 // by a person, in all numbers of all rounds
}

// NewRows returns those of so many cells.
func NewRows(of plan.Correlated, cells int) (*Rows, error) {
	c, err := counter.New(counter.Design{Rounds: of.Rounds, Bits: of.Bits, Events: of.Events, Cells: cells}, sum.Factor)
	if err != nil {
		return nil, err
	}
	return &Rows{c, sync.OnceValue(func() float64 { return math.Sqrt(float64(c.Replacement())) * (1 + 0x1p-50) })}, nil
}

// Event returns that of all rounds together, where the noise of so many aggregators, 1 or 2, is not known. Two
// draws of little noise are not known to be one of more: one of them is counted.
func (r *Rows) Event(route plan.Sum, unknown int) account.Event {
	e := additive.GaussianRows{
		Sigma: route.Sigma, Moved: r.moved(), OneNumber: float64(r.OneNumber()), Numbers: r.Rounds * r.Cells, Draws: 1,
	}
	if unknown == 2 && route.Sigma >= 3 {
		e.Draws, e.Sigma = 2, route.Sigma*math.Sqrt2*(1-0x1p-50)
	}
	return e
}

// Calibrate returns the plan's route with the least noise that keeps the budget in all rounds together. A
// reader's sums stay below 2^62 for any number of people: coefficients add up to less than 2^24.
func (r *Rows) Calibrate(p plan.Plan) (plan.Sum, error) {
	s := *p.Route.Sum
	draws := Promised(s)
	e, err := additive.CalibrateRows(r.Event(plan.Sum{Sigma: 3}, draws).(additive.GaussianRows), p.Budget.Epsilon, p.Budget.Delta)
	s.Law, s.Sigma = plan.LawGaussian, e.Sigma/math.Sqrt(float64(draws))*(1+0x1p-48)
	return s, err
}

// Deviation returns that of the noise in the running total of a day, of both aggregators, where the
// given earlier days were not told.
func (r *Rows) Deviation(route plan.Sum, day int, missing []int) float64 {
	return math.Sqrt2 * route.Sigma * r.Error(day, missing)
}
