package service

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/internal/store"
	"github.com/confetti-dp/confetti/plan"
)

var adjacencies = []account.Adjacency{account.Replacement, account.Removal}

func anySpending(t *rapid.T, label string) store.Spending {
	return store.Spending{
		Epsilon:   rapid.Float64Range(1e-6, 3).Draw(t, label+" epsilon"),
		Delta:     rapid.Float64Range(0, 1e-4).Draw(t, label+" delta"),
		Adjacency: string(rapid.SampledFrom(adjacencies).Draw(t, label+" adjacency")), Users: 100, Method: "m",
	}
}

// What is said to fit fits, and hardly more does.
func TestWhatFitsIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Population{rapid.Float64Range(0.1, 20).Draw(t, "epsilon"), rapid.Float64Range(1e-6, 1e-2).Draw(t, "delta"), rapid.SampledFrom(adjacencies).Draw(t, "adjacency")}
		var earlier []store.Spending
		for range rapid.IntRange(0, 6).Draw(t, "plans") {
			b := anySpending(t, "earlier")
			if p.check("all", guarantee(b), earlier) == nil {
				earlier = append(earlier, b)
			}
		}
		asked := guarantee(anySpending(t, "asked"))
		o := &overspent{"all", p, earlier, asked}
		epsilon, delta, err := o.fits()
		if err != nil {
			t.Fatal(err)
		}
		if epsilon <= 0 || delta <= 0 {
			return
		}
		asked.Epsilon, asked.Delta = floor(epsilon, 6), floor(delta, 3)
		if err := p.check("all", asked, earlier); err != nil {
			t.Fatalf("what fits does not fit: %v", err)
		}
		asked.Epsilon = epsilon * 1.001
		if p.check("all", asked, earlier) == nil {
			t.Fatal("more than what fits was taken")
		}
		asked.Epsilon, asked.Delta = epsilon/2, math.Min(1, delta*10)
		if asked.Adjacency == p.Adjacency && p.check("all", asked, earlier) == nil {
			t.Fatal("a delta beyond the budget was taken")
		}
	})
}

// Removal is replacement twice, with the delta that takes; replacement is removal
// as it stands.
func TestAdjacenciesAreConverted(t *testing.T) {
	g := account.Guarantee{Epsilon: 0.5, Delta: 1e-6, Adjacency: account.Removal, Method: "m"}
	twice := convert(g, account.Replacement)
	if twice.Epsilon != 1 || twice.Delta < (1+math.Exp(0.5))*1e-6 || twice.Delta > 2.7e-6 || twice.Adjacency != account.Replacement {
		t.Errorf("%+v", twice)
	}
	g.Delta = 0
	if convert(g, account.Replacement).Delta != 0 {
		t.Error("a delta came from none")
	}
	g.Adjacency = account.Replacement
	if once := convert(g, account.Removal); once.Epsilon != 0.5 || once.Adjacency != account.Removal {
		t.Errorf("%+v", once)
	}
}

func TestNothingIsLeft(t *testing.T) {
	p := Population{1, 1e-5, account.Replacement}
	spent := []store.Spending{{Plan: strings.Repeat("a", 64), Publisher: "Research", Epsilon: 1, Delta: 1e-6, Adjacency: "replacement", Users: 10, Method: "m"}}
	err := p.check("all", guarantee(store.Spending{Epsilon: 0.1, Delta: 1e-6, Adjacency: "replacement"}), spent)
	over, is := errors.AsType[*overspent](err)
	if !is || !strings.Contains(err.Error(), "by Research with plan aaaaaaaaaaaa;") {
		t.Fatal(err)
	}
	if epsilon, _, err := over.fits(); epsilon > 0 || err != nil {
		t.Error(epsilon, err)
	}
}

func TestBudgetsThatAreNone(t *testing.T) {
	for _, p := range []Population{{}, {1, 0, "replacement"}, {1, 1, "replacement"}, {0, 1e-5, "replacement"}, {math.Inf(1), 1e-5, "removal"}, {math.NaN(), 1e-5, "removal"}, {1, 1e-5, "other"}} {
		if p.validate() == nil {
			t.Errorf("%+v is a budget", p)
		}
	}
}

func TestFloor(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{{1.23999999, 3, 1.23}, {1, 3, 1}, {0.00012399, 3, 0.000123}, {999.99, 3, 999}, {10, 2, 10}} {
		if got := floor(c.x, c.digits); math.Abs(got-c.want) > 1e-12*c.want || got > c.x {
			t.Errorf("floor(%g, %d) = %g, want %g", c.x, c.digits, got, c.want)
		}
	}
}

// Where a charge leaves something out the ledger says so.
func TestWhatAChargeLeavesOut(t *testing.T) {
	histogram := func(d *plan.Deletion, crowds ...string) plan.Plan {
		return plan.Plan{Question: plan.Question{Histogram: &plan.Histogram{Crowds: crowds}}, Crowd: plan.Crowd{Deletion: d}}
	}
	density := func(label plan.LabelEpsilon) plan.Plan {
		return plan.Plan{Question: plan.Question{Density: &plan.Density{Classes: []string{"a", "b"}}}, Budget: plan.Budget{LabelEpsilon: label}}
	}
	for name, c := range map[string]struct {
		plan plan.Plan
		note string
	}{
		"one crowd":           {histogram(nil), ""},
		"public crowds":       {histogram(nil, "a", "b"), "crowd is public"},
		"private crowds":      {histogram(&plan.Deletion{}, "a", "b"), "private"},
		"one of private size": {histogram(&plan.Deletion{}), "private"},
		"classes":             {density(2), ""},
		"unprotected classes": {density(plan.Unprotected), "features only"},
	} {
		if note := leftOut(c.plan); !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: %q", name, note)
		}
	}
}
