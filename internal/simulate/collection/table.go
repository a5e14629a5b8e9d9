package collection

import (
	"math"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/crosscode/tables"
	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/simulate"
)

// Table asks a population what goes with what, through the whole flow.
type Table struct {
	Title   string
	Asked   plan.Crosstab // but for its noise and its seed, which follows from Seed
	Budget  plan.Budget
	Minimum int    // smallest crowd that is released; 0: all
	Noise   string // who adds the noise of sums by two aggregators (plan.Route.Noise); empty: answers are mixed
	Full    bool   // fidelity
	Seed    uint64
}

// Run collects from the population, which name names, and publishes. Each respondent holds a text for each column.
func (s Table) Run(name string, population [][]any, progress simulate.Progress) (Told, error) {
	asked := s.Asked
	var route plan.Route
	if s.Noise != "" {
		route = measure.RouteOf(s.Noise, 0, 0)
	} else {
		asked.Seed = measure.PublicSeed(s.Seed)
	}
	values := make(distribution.Values, len(population))
	for i, record := range population {
		values[i] = record
	}
	return once{s.Title, s.Budget, route, s.Minimum, s.Full, s.Seed}.run(name, plan.Question{Kind: "table", Unfit: plan.UnfitReference, Table: &asked}, values, progress, compareTables)
}

const (
	curatorTail   = 1e-9  // share of delta that a curator's exact noise has no use for
	forHistograms = 0xc0a // stream of its noise
)

// compareTables measures the tables of every two columns against the truth.
func compareTables(r *measure.Result, learned question.Model, truth *results.Truth) error {
	m := learned.(*table.Model)
	s := m.Sums
	r.CountErrors = &measure.CountErrors{}
	if s == nil {
		return nil
	}
	box, err := account.NewBox(r.Plan.Budget.Epsilon, r.Plan.Budget.Delta, curatorTail)
	if err != nil {
		return err
	}
	noise, rival := math.Sqrt(2*float64(s.Code.Pairs()))/box.Shift, seeded.New(r.Seed, forHistograms)
	c := &measure.Crosstabs{}
	var errors measure.Errors
	cells, n := 0.0, float64(s.Respondents)
	squares, covered := 0.0, 0.0
	for a, b := range s.Pairs {
		own, held, at := s.Table(a, b), s.Guess(a, b).Table, s.Pair(a, b)
		raw := make([]estimate.Value, len(own))
		for i, x := range own {
			raw[i] = estimate.Value{Mean: x, StdErr: s.CellError(a, b)}
			low, high := raw[i].Interval(measure.IntervalLevel)
			if low <= truth.Pairs[at][i] && truth.Pairs[at][i] <= high {
				covered++
			}
			squares += (held[i] - truth.Pairs[at][i]) * (held[i] - truth.Pairs[at][i])
			cells++
		}
		errors.Add(raw, func(i int) int { return int(truth.Pairs[at][i]) })
		off := func(table func(i int) float64) (sum float64) {
			for i, x := range truth.Pairs[at] {
				sum += max(x-table(i), table(i)-x) / 2 / n / float64(s.Code.Pairs())
			}
			return sum
		}
		c.OffRaw += off(func(i int) float64 { return own[i] })
		c.Off += off(func(i int) float64 { return held[i] })
		wide := s.Code.Sizes[b]
		curated := make([]float64, len(held))
		for i, x := range truth.Pairs[at] {
			curated[i] = x + noise*rival.NormFloat64()
		}
		curated = tables.Nearest(curated, n)
		c.OffCurator += off(func(i int) float64 { return curated[i] })
		x, y := s.Held(a), s.Held(b)
		c.OffColumns += off(func(i int) float64 { return x[i/wide] * y[i%wide] / n })
		c.OffIndependent += off(func(i int) float64 { return truth.Columns[a][i/wide] * truth.Columns[b][i%wide] / n })
	}
	errors.Into(r.CountErrors, r.Survey)
	c.RMSE, c.Covered = math.Sqrt(squares/cells), covered/cells
	c.Cells = int(cells)
	r.Crosstabs = c
	a, b := 0, 1 // those that tell most of each other
	for x, y := range s.Pairs {
		if s.Guess(x, y).Association > s.Guess(a, b).Association {
			a, b = x, y
		}
	}
	own := s.Table(a, b)
	values := make([]estimate.Value, len(own))
	for i, x := range own {
		values[i] = estimate.Value{Mean: x, StdErr: s.CellError(a, b)}
	}
	columns := m.Asked.Columns
	rows, across := table.Values(columns[a]), table.Values(columns[b])
	top := measure.Largest(len(own), measure.TopCells, func(i int) float64 { return own[i] })
	r.Top = measure.Top(top, func(i int) string { return rows[i/len(across)] + ", " + across[i%len(across)] }, values, func(_, i int) (low, high float64) {
		half := s.Quantile(measure.IntervalLevel) * values[i].StdErr
		return max(0, values[i].Mean-half), max(0, min(n, values[i].Mean+half))
	}, func(i int) int { return int(truth.Pairs[s.Pair(a, b)][i]) })
	return nil
}
