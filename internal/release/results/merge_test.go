package results_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/learn/hdc"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
)

type part struct {
	Protocol *protocol.Protocol
	Crowds   []tally.Crowd
}

// merge learns from all parts.
func merge(t testing.TB, parts ...part) (*results.Classifier, error) {
	t.Helper()
	var models []*density.Model
	for _, p := range parts {
		m, err := p.Protocol.Learn(p.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m.(*density.Model))
	}
	return results.Merge(models...)
}

// classifier is that of one part.
func classifier(t testing.TB, p *protocol.Protocol, crowds []tally.Crowd) *results.Classifier {
	t.Helper()
	m, err := p.Learn(crowds)
	if err != nil {
		t.Fatal(err)
	}
	c, err := results.NewClassifier(m.(*density.Model))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// epoch is the day's plan of a collection that goes on, and what came of it.
func epoch(t testing.TB, p plan.Plan, day int) part {
	t.Helper()
	p.Times.Opens = time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
	part := part{Protocol: example.Runnable(t, p)}
	part.Crowds = example.Crowds(part.Protocol)
	r := seeded.New(uint64(day))
	for c := range part.Crowds {
		part.Crowds[c].Respondents = 600 + 10*day
		for i := range example.Cells(part.Crowds[c]) {
			example.Cells(part.Crowds[c])[i] = 200 + r.Uint64N(200)
		}
	}
	return part
}

var queries = blas32.General{Rows: 3, Cols: 3, Stride: 3, Data: []float32{1, 0, 0, 0, 0.6, 0.8, -0.3, 0.2, 1}}

func scores(t testing.TB, m *hdc.Model) []hdc.Prediction {
	t.Helper()
	predictions, err := m.Classify(queries)
	if err != nil {
		t.Fatal(err)
	}
	return predictions
}

var closely = cmp.Options{cmpopts.EquateApprox(1e-9, 1e-12), cmpopts.EquateNaNs()}

// Densities of epochs add up as their tallies do: apart or counted as one, the
// estimates and their errors are the same, before and after the label noise.
func TestEpochsAddUpAsTheirTallies(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := example.Design(t, example.Density(bitsum))
		a, b, c := epoch(t, p, 1), epoch(t, p, 2), epoch(t, p, 3)
		b.Crowds[1].Tally = nil // withheld that day
		merged, err := merge(t, a, b, c)
		if err != nil {
			t.Fatal(err)
		}
		all := example.Crowds(a.Protocol)
		for _, part := range []part{a, b, c} {
			for crowd, c := range part.Crowds {
				if err := all[crowd].Merge(c); err != nil {
					t.Fatal(err)
				}
			}
		}
		one := classifier(t, a.Protocol, all)
		if diff := cmp.Diff(scores(t, one.Model), scores(t, merged.Model), closely); diff != "" {
			t.Errorf("%s (-tallies +densities):\n%s", bitsum, diff)
		}
		wantClean, ok1 := one.Debiased()
		clean, ok2 := merged.Debiased()
		if !ok1 || !ok2 {
			t.Fatalf("%s: debiased %v, %v", bitsum, ok1, ok2)
		}
		if diff := cmp.Diff(scores(t, wantClean), scores(t, clean), closely); diff != "" {
			t.Errorf("%s, debiased (-tallies +densities):\n%s", bitsum, diff)
		}
		if diff := cmp.Diff([]int{610 + 620 + 630, 610 + 630}, merged.Reported); diff != "" {
			t.Error(diff)
		}
	}
}

// A later plan that asks only for a new class adds it, and leaves the others as
// they were.
func TestANewClassNeedsNoNewCollectionOfTheOthers(t *testing.T) {
	old := epoch(t, example.Design(t, example.Density("rr")), 1)
	p := example.Density("3nb") // another bitsum, minimum and budget
	p.Crowd.Names = []string{"forest"}
	p.Budget.Epsilon, p.Crowd.Minimum = 1, 400
	later := epoch(t, example.Design(t, p), 2)
	merged, err := merge(t, old, later)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hills", "shore", "forest"}, merged.Classes()); diff != "" {
		t.Fatal(diff)
	}
	one := func(part part) []hdc.Prediction {
		return scores(t, classifier(t, part.Protocol, part.Crowds).Model)
	}
	before, added, both := one(old), one(later), scores(t, merged.Model)
	for i := range both {
		if diff := cmp.Diff(append(before[i].Scores, added[i].Scores...), both[i].Scores, closely); diff != "" {
			t.Errorf("query %d (-apart +merged):\n%s", i, diff)
		}
	}
	if _, ok := merged.Debiased(); ok {
		t.Error("label noise was taken out of classes that were not reported together")
	}
}

func TestMergeRefuses(t *testing.T) {
	p := example.Design(t, example.Density("rr"))
	a := epoch(t, p, 1)
	seed := example.Density("rr")
	seed.Question.Density.Kernel.Seed = strings.Repeat("5b", 32)
	nobody := epoch(t, p, 3)
	nobody.Crowds[0].Tally, nobody.Crowds[1].Tally = nil, nil
	for want, parts := range map[string][]part{
		"two parts of one plan":  {a, a},
		"different feature maps": {a, epoch(t, example.Design(t, seed), 2)},
		"nothing to learn from":  {nobody},
	} {
		_, err := merge(t, parts...)
		example.Mentions(t, err, want)
	}
}
