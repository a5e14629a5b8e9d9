package collection

import (
	"math"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/simulate"
)

// Strings asks a population which strings many of it hold, of which nobody has a list, through the whole
// flow.
type Strings struct {
	Title   string
	Asked   plan.Strings // but for its noise and its seed, which follows from Seed
	Budget  plan.Budget
	Minimum int    // smallest crowd that is released; 0: all
	Noise   string // who adds the noise of sums by two aggregators (plan.Route.Noise); empty: answers are mixed
	Full    bool   // fidelity
	Seed    uint64
}

// Run collects from the population, which name names, and publishes.
func (s Strings) Run(name string, population []string, progress simulate.Progress) (Told, error) {
	asked := s.Asked
	asked.Seed = measure.PublicSeed(s.Seed)
	var route plan.Route
	if s.Noise != "" {
		route = measure.RouteOf(s.Noise, 0, 0)
	}
	values := make(distribution.Values, len(population))
	for i, text := range population {
		values[i] = text
	}
	return once{s.Title, s.Budget, route, s.Minimum, s.Full, s.Seed}.run(name, plan.Question{Kind: "strings", Unfit: plan.UnfitReference, Strings: &asked}, values, progress, compareStrings)
}

// compareStrings measures the strings that were found against the truth.
func compareStrings(r *measure.Result, learned question.Model, truth *results.Truth) error {
	m := learned.(*strings.Model)
	r.CountErrors = &measure.CountErrors{}
	held := func(i int) int { return truth.Strings[m.Found[i].Text] }
	var right []estimate.Value
	var of []int
	falseFound := 0
	for i, f := range m.Found {
		if held(i) == 0 {
			falseFound++
			continue
		}
		right, of = append(right, f.Count), append(of, held(i))
	}
	r.Found, r.FalseFound = len(m.Found), &falseFound
	var errors measure.Errors
	errors.Add(right, func(i int) int { return of[i] })
	errors.Into(r.CountErrors, r.Survey)
	top := measure.Largest(len(m.Found), measure.TopCells, func(i int) float64 { return m.Found[i].Count.Mean })
	counts := make([]estimate.Value, len(m.Found))
	for i, f := range m.Found {
		counts[i] = f.Count
	}
	r.Top = measure.Top(top, func(i int) string { return m.Found[i].Text }, counts, func(_, i int) (low, high float64) {
		low, high = m.IntervalAtOnce(i, measure.IntervalLevel)
		return math.Max(0, low), high
	}, held)
	return nil
}
