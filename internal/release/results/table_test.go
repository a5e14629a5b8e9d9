package results_test

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/table"
	"github.com/confetti-dp/confetti/release"
)

// summedTables returns a plan of tables that are added up, a model of 3,000 people, and what is released of it.
func summedTables(t *testing.T, spoil func(m *table.Model)) (p plan.Plan, r release.Release, counts []byte) {
	p = example.Summed(example.Table(), plan.NoiseAggregators)
	p.Crowd.Minimum, p.Budget.Epsilon = 3000, 6
	p = example.Design(t, p)
	q := example.Runnable(t, p).Question
	sums := q.(interface{ NewTally() tally.Tally }).NewTally().(*tally.Sums)
	for i := range sums.N {
		sums.N[i] = 500
	}
	m, err := q.(interface {
		Learn([]tally.Crowd) (question.Model, error)
	}).Learn([]tally.Crowd{{Tally: sums, Respondents: 3000, Smallest: 3000}})
	if err != nil {
		t.Fatal(err)
	}
	spoil(m.(*table.Model))
	if r.Headline, r.Sections, err = results.Describe(m, results.Public{}); err != nil {
		t.Fatal(err)
	}
	sheet, err := results.Beside(m, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	return p, r, sheet.Text
}

// Of sums the error follows from the plan. A release that states half of it, everywhere alike, is found, and nobody asks it.
func TestTablesStateTheErrorOfTheirPlan(t *testing.T) {
	for _, share := range []float64{1, .5, 2} {
		p, r, counts := summedTables(t, func(m *table.Model) { m.Sums.Error *= share })
		_, _, _, ok, err := results.Again(p, nil, counts, []int{3000})
		if !ok || (err == nil) != (share == 1) {
			t.Errorf("%v of the error: %v, %v", share, ok, err)
		}
		if _, err := results.ReadTables(p, &r, counts); (err == nil) != (share == 1) {
			t.Errorf("%v of the error is asked: %v", share, err)
		}
	}
}

// No release is of less than nobody, of parts of people or of more than there can be.
func TestTablesOfImpossiblePeople(t *testing.T) {
	p, r, counts := summedTables(t, func(*table.Model) {})
	for _, people := range []float64{-3000, 2999.5, 1e300} {
		r.Headline[0].Value = people
		_, err := results.ReadTables(p, &r, counts)
		example.Mentions(t, err, "is damaged")
	}
}
