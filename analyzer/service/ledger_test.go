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
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
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
	spent := []store.Spending{{Plan: "aaaaaaaabb", Publisher: "Research", Epsilon: 1, Delta: 1e-6, Adjacency: "replacement", Users: 10, Method: "m"}}
	err := p.check("all", guarantee(store.Spending{Epsilon: 0.1, Delta: 1e-6, Adjacency: "replacement"}), spent)
	over, is := errors.AsType[*overspent](err)
	if !is || !strings.Contains(err.Error(), "by Research with plan aaaaaaaa;") {
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

// Private sizes of crowds are charged, and whoever may change crowds is charged
// for both; where a plan leaves something out the ledger says so.
func TestWhatAPlanCosts(t *testing.T) {
	shuffled := account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement, Trust: account.Shuffled, Users: 400, Rounds: 3, Bound: account.Upper, Method: "m"}
	local := shuffled
	local.Epsilon, local.Trust = 9, account.Local
	promise := protocol.Promise{Statements: []release.GuaranteeStatement{{Guarantee: local}, {Guarantee: shuffled}}}
	crowd, err := account.NewCrowd(0.5, 1e-7)
	if err != nil {
		t.Fatal(err)
	}
	sizes := crowd.Guarantee(account.Replacement)
	deletion := &plan.Deletion{Epsilon: 0.5, Delta: 1e-7, Noise: crowd.Noise, Threshold: crowd.Threshold}
	histogram := func(d *plan.Deletion, crowds ...string) plan.Plan {
		return plan.Plan{Question: plan.Question{Histogram: &plan.Histogram{Crowds: crowds}}, Crowd: plan.Crowd{Deletion: d}}
	}
	density := func(label plan.LabelEpsilon) plan.Plan {
		return plan.Plan{Question: plan.Question{Density: &plan.Density{Classes: []string{"a", "b"}}}, Budget: plan.Budget{LabelEpsilon: label}}
	}
	for name, c := range map[string]struct {
		plan           plan.Plan
		epsilon, delta float64
		note           string
	}{
		"one crowd":           {histogram(nil), 1, 1e-6, ""},
		"public crowds":       {histogram(nil, "a", "b"), 1, 1e-6, "crowd is public"},
		"private crowds":      {histogram(deletion, "a", "b"), 2 + sizes.Epsilon, 2e-6 + sizes.Delta, "private"},
		"one of private size": {histogram(deletion), 1 + sizes.Epsilon, 1e-6 + sizes.Delta, "private"},
		"classes":             {density(2), 1, 1e-6, ""},
		"unprotected classes": {density(plan.Unprotected), 1, 1e-6, "features only"},
	} {
		g, note, err := costs(c.plan, promise)
		if err != nil || g.Epsilon < c.epsilon || g.Epsilon > c.epsilon*1.000001 || g.Delta < c.delta || g.Delta > c.delta*1.000001 || g.Users != 400 || !strings.Contains(note, c.note) || (note == "") != (c.note == "") {
			t.Errorf("%s: %v, %q, %v", name, g, note, err)
		}
	}
	if _, _, err := costs(histogram(nil), protocol.Promise{Statements: promise.Statements[:1]}); err == nil {
		t.Error("a promise against those who collude was taken for one against the analyzer")
	}
}
