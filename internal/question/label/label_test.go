package label

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/plan"
)

func asked(l plan.Label) plan.Plan {
	l.Classes = []string{"a", "b", "c"}
	return plan.Plan{
		Question: plan.Question{Kind: "label", Unfit: plan.UnfitReference, Label: &l},
		Budget:   plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: plan.AdjacencyLabel, DishonestShare: 0.1},
		Crowd:    plan.Crowd{Minimum: 500}, Envelopes: plan.Envelopes{Suite: "x25519"},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: make([]plan.Party, 2)}}}},
	}
}

func made(t *testing.T, l plan.Label) *Question {
	t.Helper()
	p, err := Design(asked(l))
	if err != nil {
		t.Fatal(err)
	}
	var ps plan.Problems
	if validate(p, &ps); ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	q, err := newQuestion(p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// What two labels may lead to differs by no more than the report's epsilon, and which record it
// is of is said as it is: enumerated. The twin that lies half as often is beyond it.
func TestEachByEnumeration(t *testing.T) {
	q := made(t, plan.Label{Report: plan.LabelEach, Records: 4})
	ratio := func(epsilon float64) (worst float64) {
		m := q.report.(*each).KRR
		m.Epsilon = epsilon
		for x := range 3 {
			for y := range 3 {
				for said := range 3 {
					worst = math.Max(worst, math.Log(m.Prob(x, said)/m.Prob(y, said)))
				}
			}
		}
		return worst
	}
	if got := ratio(q.report.(*each).Epsilon); got > 1+1e-9 || got < 1-1e-9 {
		t.Errorf("labels tell %v, and 1 is promised", got)
	}
	if ratio(2) <= 1 {
		t.Error("a twin that lies less keeps the promise")
	}
	for number := range 4 {
		s, err := q.Encode(Record{Number: number, Class: 1})
		if err != nil {
			t.Fatal(err)
		}
		report, err := q.Randomize(rng.New(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		tallied := q.NewTally()
		if err := tallied.Add(report.Parts[0][0]); err != nil {
			t.Fatal(err)
		}
		if got := q.report.(*each).reports(tallied.(*tally.Counts)); len(got) != 1 || got[0].Number != number {
			t.Errorf("record %d is reported as %v", number, got)
		}
	}
}

// A crowd follows from the features alone, and every promise is of the label.
func TestTheCrowdIsThatOfTheFeatures(t *testing.T) {
	s := &cluster.State{Centres: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, 0, 10, 10}}, Sizes: []int{500, 500}}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	without := made(t, plan.Label{Report: plan.LabelClusters, Clusters: 2, Features: 2})
	if _, err := without.Encode(Record{Features: []float32{1, 1}}); err == nil {
		t.Error("answered without clusters")
	}
	with, err := without.WithState(s.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for class := -1; class < 4; class++ {
		symbol, err := with.Encode(Record{Features: []float32{9, 8}, Class: class})
		unfit, failed := question.Fits(err)
		if failed != nil || (unfit != nil) != (class < 0 || class > 2) {
			t.Fatalf("class %d: %v, %v", class, unfit, failed)
		}
		report, err := with.Randomize(rng.New(), symbol, nil)
		if err != nil || report.Crowd != 1 {
			t.Errorf("class %d: crowd %d, %v", class, report.Crowd, err)
		}
	}
	if _, err := with.Encode(Record{Features: []float32{float32(math.NaN()), 0}}); err == nil {
		t.Error("features that lie nowhere are taken")
	}
	for _, l := range []plan.Label{{Report: plan.LabelClusters, Clusters: 2, Features: 2}, {Report: plan.LabelSums, Features: 2, Seed: strings.Repeat("07", 32)}, {Report: plan.LabelEach, Records: 4}} {
		q := made(t, l)
		g, err := account.Epsilon(q.Event(450, false), 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if g, err = g.Under(account.Label); err != nil || g.Epsilon > 1+1e-9 {
			t.Errorf("%s: %+v, %v", l.Report, g, err)
		}
		all, err := q.Guarantees(g)
		if err != nil || slices.ContainsFunc(all, func(s account.Statement) bool { return s.Guarantee.Adjacency != account.Label || s.Note == "" }) {
			t.Errorf("%s: %+v, %v", l.Report, all, err)
		}
	}
}

// What does not belong together is refused before it is designed.
func TestWrongPlans(t *testing.T) {
	for _, l := range []plan.Label{{}, {Report: plan.LabelClusters, Features: 2}, {Report: plan.LabelSums}, {Report: plan.LabelEach}, {Report: plan.LabelEach, Records: 3, Clusters: 2}} {
		if _, err := Design(asked(l)); err == nil {
			t.Errorf("%+v is designed", l)
		}
	}
	p := asked(plan.Label{Report: plan.LabelEach, Records: 3})
	p.Budget.Adjacency = "replacement"
	if _, err := Design(p); err == nil {
		t.Error("a promise of whole records is designed")
	}
}
