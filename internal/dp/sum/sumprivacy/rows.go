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
	return rowsOf(c), nil
}

// Parted returns the rows of the same rounds where one tells of earlier days and another does not, as from an aggregator that
// was put back to an older copy.
func (r *Rows) Parted() *Rows {
	d := r.Design
	d.Late = true
	c, err := counter.New(d, sum.Factor)
	if err != nil {
		panic("sumprivacy: " + err.Error()) // it was valid before
	}
	return rowsOf(c)
}

func rowsOf(c *counter.Counter) *Rows {
	return &Rows{c, sync.OnceValue(func() float64 { return math.Sqrt(float64(c.Replacement())) * (1 + 0x1p-50) })}
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

// Deviation returns that of the noise of both aggregators in what the running total of a day is above that of an
// earlier one, -1 for none, where the given days were not told.
func (r *Rows) Deviation(route plan.Sum, since, day int, missing []int) float64 {
	return math.Sqrt2 * route.Sigma * r.Error(since, day, missing)
}
