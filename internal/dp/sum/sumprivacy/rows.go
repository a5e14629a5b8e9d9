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

// Rows are what aggregators tell in the rounds of a study that are correlated (plan.Correlated). They are immutable, and safe
// for concurrent use.
type Rows struct {
	*counter.Counter
	Windows *counter.Windows // of the numbers of a row; nil: each tells of itself
	moved   func() float64   // by a person, in all numbers of all rounds
	one     float64          // by a person, in one of them
}

// told identifies Rows: equal ones have equal rows.
type told struct {
	counter.Design
	windows bool
}

// lately keeps the last rows that were made: services, their releases and a simulation ask for them anew in each round, and
// making them takes as long as the rounds squared.
var lately struct {
	sync.Mutex
	of   [8]told
	rows [8]*Rows
	next int
}

// NewRows returns those of so many cells.
func NewRows(of plan.Correlated, cells int) (*Rows, error) {
	return told{counter.Design{Rounds: of.Rounds, Bits: of.Bits, Events: of.Events, Cells: cells, Turns: of.Turns}, of.Windows}.rows()
}

// Parted returns the rows of the same rounds where one tells of earlier days and another does not, as from an aggregator that
// was put back to an older copy. Those of windows are bounded for that already.
func (r *Rows) Parted() *Rows {
	if r.Windows != nil {
		return r
	}
	d := r.Design
	d.Late = true
	parted, err := told{Design: d}.rows()
	if err != nil {
		panic("sumprivacy: " + err.Error()) // it was valid before
	}
	return parted
}

// rows returns what is remembered of a design, or makes it.
func (t told) rows() (*Rows, error) {
	lately.Lock()
	defer lately.Unlock()
	for i, rows := range lately.rows {
		if rows != nil && lately.of[i] == t {
			return rows, nil
		}
	}
	rows, err := t.made()
	if err == nil {
		lately.of[lately.next], lately.rows[lately.next] = t, rows
		lately.next = (lately.next + 1) % len(lately.rows)
	}
	return rows, err
}

func (t told) made() (*Rows, error) {
	c, err := counter.New(t.Design, sum.Factor)
	if err != nil {
		return nil, err
	}
	if !t.windows {
		return &Rows{c, nil, sync.OnceValue(func() float64 { return math.Sqrt(float64(c.Replacement())) * (1 + 0x1p-50) }), float64(c.OneNumber())}, nil
	}
	w, err := counter.NewWindows(t.Rounds, t.Bits, t.Events, sum.Factor)
	if err != nil {
		return nil, err
	}
	return &Rows{c, w, sync.OnceValue(func() float64 { return math.Sqrt(w.Replacement()) * (1 + 0x1p-50) }), w.OneNumber()}, nil
}

// Event returns that of all rounds together, where the noise of so many aggregators, 1 or 2, is not known. Two
// draws of little noise are not known to be one of more: one of them is counted.
func (r *Rows) Event(route plan.Sum, unknown int) account.Event {
	e := additive.GaussianRows{
		Sigma: route.Sigma, Moved: r.moved(), OneNumber: r.one, Numbers: r.Rounds * r.Cells, Draws: 1,
	}
	if unknown == 2 && route.Sigma >= 3 {
		e.Draws, e.Sigma = 2, route.Sigma*math.Sqrt2*(1-0x1p-50)
	}
	return e
}

// Calibrate returns the plan's route with the least noise that keeps the budget in all rounds together. A
// reader's sums stay below 2^62 for any number of people: coefficients add up to less than 2^24.
func (r *Rows) Calibrate(p plan.Plan) (plan.Sum, error) { return r.least(p, r.moved(), r.one) }

// Apart returns the plan's route with the least noise that keeps the budget where each round tells its own numbers and
// nothing of those before.
func (r *Rows) Apart(p plan.Plan) (plan.Sum, error) {
	return r.least(p, math.Sqrt(2*float64(r.Events)), 1)
}

func (r *Rows) least(p plan.Plan, moved, one float64) (plan.Sum, error) {
	s := *p.Route.Sum
	draws := Promised(s)
	e := r.Event(plan.Sum{Sigma: 3}, draws).(additive.GaussianRows)
	e.Moved, e.OneNumber = moved, one
	e, err := additive.CalibrateRows(e, p.Budget.Epsilon, p.Budget.Delta)
	s.Law, s.Sigma = plan.LawGaussian, e.Sigma/math.Sqrt(float64(draws))*(1+0x1p-48)
	return s, err
}

// Deviation returns that of the noise of both aggregators in what the running total of a day is above that of an
// earlier one, -1 for none, where the given days were not told. Of windows it is that of a row's numbers before Before.
func (r *Rows) Deviation(route plan.Sum, since, day int, missing []int) float64 {
	return Both(route) * r.Error(since, day, missing)
}

// Both returns the deviation of the noise of both aggregators in one number.
func Both(route plan.Sum) float64 { return math.Sqrt2 * route.Sigma }
