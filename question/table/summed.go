package table

import (
	"errors"
	"math"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/crosscode"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/sum"
	"github.com/confetti-dp/confetti/internal/dp/sum/sumprivacy"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
)

// Of sums a device marks one cell in the table of each two columns. These are whole numbers, which are proved without
// rounding, and columns by themselves are read out of them.

// summed says that a plan's aggregators add cells up.
func summed(p plan.Plan) bool { return p.Route.Sum != nil }

// Summed says that aggregators add cells up.
func (q *Question) Summed() bool { return summed(q.plan) }

var errDevices = errors.New(`table: sums are of cells as they are: set route.sum.noise to "aggregators" or "shared", or have answers mixed`)

// Circuit allows as many ones as there are pairs of columns.
func (q *Question) Circuit() (plan.Circuit, error) {
	if q.plan.Route.Sum.Noise == plan.NoiseDevices {
		return plan.Circuit{}, errDevices
	}
	return plan.Circuit{Kind: plan.CircuitMultihot, Length: q.code.Cells(), Weight: q.code.Pairs()}, nil
}

// Measure marks the cells of a record. A value that nobody knows is drawn.
func (q *Question) Measure(r *rand.Rand, s question.Symbol, _ question.Memory) (crowd int, ones []uint64, err error) {
	record, ok := s.([]int)
	if !ok || len(record) != len(q.code.Sizes) {
		return 0, nil, errors.New("table: what is split is no record of the plan's")
	}
	ones = make([]uint64, q.code.Cells())
	q.code.Mark(r, record, ones)
	return 0, ones, nil
}

// Sums returns those of the cells, with noise.
func (q *Question) Sums(sums []int64, _ int) (tally.Tally, error) {
	return tally.SumsOf(sums, q.code.Cells())
}

// known returns what sums of cells tell.
func (q *Question) known(t *tally.Sums, respondents int) (*tables.Sums, error) {
	cells := make([]float64, len(t.N))
	for i, n := range t.N {
		cells[i] = float64(n)
	}
	s, err := tables.FromCells(q.code, respondents, cells, q.noise())
	if err != nil {
		return nil, err
	}
	return q.Known(respondents, s.Vector, s.Error), nil
}

// noise returns the deviation of a cell.
func (q *Question) noise() float64 { return math.Sqrt(sum.Total(*q.plan.Route.Sum).Variance) }

// changed returns how many cells differ at most, by one each, where a record is exchanged for another.
func changed(s crosscode.Shape) int { return 2 * s.Pairs() }

// lost returns the event of a record exchanged for another, where the noise of so many aggregators is not known.
func (q *Question) lost(unknown int) account.Event {
	return account.Repeat{Event: sumprivacy.Aggregators(*q.plan.Route.Sum, unknown), Rounds: changed(q.code.Shape)}
}

// designSummed fills in the noise of sums of cells.
func designSummed(p plan.Plan, s crosscode.Shape) (plan.Plan, error) {
	named := *p.Route.Sum
	named.Law = plan.LawGaussian // ranges are of normal noise
	p.Route.Sum = &named
	route, err := sumprivacy.Calibrate(p, changed(s))
	p.Route.Sum = &route
	return p, err
}
