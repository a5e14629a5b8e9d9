package collection

import (
	"math"
	"time"

	"github.com/confetti-dp/confetti/internal/dp/estimate"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/strings"
	"github.com/confetti-dp/confetti/release"
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

// Read is what came of strings.
type Read struct {
	Plan    plan.Plan
	Release release.Release
	Model   *strings.Model
	Public  results.Public
	Result  measure.Result
}

// Run collects from the population, which name names, and publishes.
func (s Strings) Run(name string, population []string, progress simulate.Progress) (Read, error) {
	start := time.Now()
	var out Read
	minimum := s.Minimum
	if minimum == 0 {
		minimum = len(population)
	}
	asked := s.Asked
	asked.Seed = measure.PublicSeed(s.Seed)
	p := measure.Draft(plan.Question{Kind: "strings", Unfit: plan.UnfitReference, Strings: &asked}, s.Budget, minimum)
	p.Title = s.Title
	if s.Noise != "" {
		p.Route = measure.RouteOf(s.Noise, 0, 0)
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return out, err
	}
	if p, err = design.Fill(p); err != nil {
		return out, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return out, err
	}
	values := make(distribution.Values, len(population))
	for i, text := range population {
		values[i] = text
	}
	a, err := ask(proto, keys, values, s.Full, simulate.Bounded{}, s.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Model, out.Public = p, a.learned.(*strings.Model), results.Public{Truth: a.truth}
	if out.Release, err = a.publish(proto, out.Public, s.Seed); err != nil {
		return out, err
	}
	res := measure.Result{
		Dataset: name, Respondents: len(population), Users: minimum, Seed: s.Seed, Plan: measure.WithoutKeys(p),
		CountErrors: &measure.CountErrors{}, Survey: &measure.Survey{Fidelity: "law", Withheld: out.Release.Withheld},
	}
	if s.Full {
		res.Fidelity = "full"
	}
	if err := promised(&res, proto); err != nil {
		return out, err
	}
	compareStrings(&res, out.Model, a.truth)
	res.Seconds = time.Since(start).Seconds()
	out.Result = res
	return out, nil
}

// compareStrings measures the strings that were found against the truth.
func compareStrings(r *measure.Result, m *strings.Model, truth *results.Truth) {
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
	errors.State(r.CountErrors, r.Survey)
	top := measure.Largest(len(m.Found), measure.TopCells, func(i int) float64 { return m.Found[i].Count.Mean })
	counts := make([]estimate.Value, len(m.Found))
	for i, f := range m.Found {
		counts[i] = f.Count
	}
	r.Top = measure.Top(top, func(i int) string { return results.Named(m.Found[i].Text) }, counts, func(_, i int) (low, high float64) {
		low, high = m.IntervalAtOnce(i, measure.IntervalLevel)
		return math.Max(0, low), high
	}, held)
}
