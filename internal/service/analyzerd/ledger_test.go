package analyzerd

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/account/central"
	"github.com/confetti-dp/confetti/internal/account/shuffle"
	"github.com/confetti-dp/confetti/internal/service/analyzerd/rows"
	"github.com/confetti-dp/confetti/plan"
)

// What is said to fit fits: a plan of the advised epsilon that a Gaussian of a twentieth
// more shift than that epsilon's dominates.
func TestWhatFitsIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Population{rapid.Float64Range(0.1, 20).Draw(t, "epsilon"), rapid.Float64Range(1e-6, 1e-2).Draw(t, "delta"), account.Replacement}
		dominated := func(b rows.Spending) rows.Spending {
			low, high := 1e-6, 1e3
			for range 60 {
				middle := math.Sqrt(low * high)
				if g, err := account.Delta(central.Gaussian{Sigma: 1 / min(middle, 99), Sensitivity: 1}, b.Epsilon); err != nil || g.Delta > b.Delta {
					high = middle
				} else {
					low = middle
				}
			}
			b.Adjacency, b.Shift, b.Tail, b.Dominated = "replacement", 1.05*high, b.Delta/100, "replacement"
			return b
		}
		var earlier []rows.Spending
		for range rapid.IntRange(0, 6).Draw(t, "plans") {
			b := dominated(rows.Spending{Epsilon: rapid.Float64Range(0.01, 3).Draw(t, "earlier"), Delta: p.Delta * rapid.Float64Range(1e-3, 0.05).Draw(t, "earlier delta")})
			if affords(p, b, earlier) == nil {
				earlier = append(earlier, b)
			}
		}
		asked := dominated(rows.Spending{Epsilon: 3, Delta: p.Delta * rapid.Float64Range(1e-3, 0.05).Draw(t, "asked delta")})
		epsilon, err := (&overspent{"all", p, earlier, asked}).fits()
		if err != nil {
			t.Fatal(err)
		}
		if epsilon <= 1e-3 {
			return
		}
		asked.Epsilon = floor(epsilon, 6)
		if err := affords(p, dominated(asked), earlier); err != nil {
			t.Fatalf("what fits does not fit: %v", err)
		}
		asked.Epsilon = p.Epsilon * 1.001
		if whole := (rows.Spending{Epsilon: asked.Epsilon, Delta: asked.Delta, Adjacency: "replacement"}); affords(p, whole, earlier) == nil && asked.Epsilon > 2 {
			t.Fatal("more than the budget was taken")
		}
	})
}

// A population's budget of (20, 1e-3) has room for about 250 plans of randomized response
// of (1, 1e-6), for neighbours under replacement; and rows of before there were
// dominations count by their epsilon and delta.
func TestAPopulationHasRoomForTwoHundredAndFiftyPlans(t *testing.T) {
	p := Population{20, 1e-3, account.Replacement}
	rr, g, err := shuffle.CalibrateRR(calibrate.Target{Users: 2000, Rounds: 1, Epsilon: 1, Delta: 1e-6}, calibrate.Exact)
	if err != nil {
		t.Fatal(err)
	}
	d, err := account.Dominate(rr, 1e-8)
	if err != nil {
		t.Fatal(err)
	}
	b := rows.Spending{Epsilon: g.Epsilon, Delta: 1e-6, Adjacency: "replacement", Shift: d.Shift, Tail: d.Tail, Dominated: "replacement"}
	count := func(b rows.Spending) (n int) {
		var earlier []rows.Spending
		for affords(p, b, earlier) == nil {
			earlier = append(earlier, b)
		}
		return len(earlier)
	}
	if n := count(b); n < 240 || n > 260 {
		t.Errorf("%d plans are taken", n)
	}
	b.Dominated = ""
	if n := count(b); n != 20 {
		t.Errorf("%d plans of before are taken", n)
	}
	// A budget that was for removal when the plan came.
	b.Dominated = "removal"
	if got := p.entry(b).Domination; got.Shift < 2*d.Shift || got.Tail <= d.Tail || got.Adjacency != account.Replacement {
		t.Errorf("%+v", got)
	}
}

// What was spent for neighbours that say nothing of the population's fits no budget.
func TestWhatCannotBeConvertedFitsNoBudget(t *testing.T) {
	p := Population{1, 1e-5, account.Replacement}
	if err := affords(p, rows.Spending{Epsilon: 1e-9, Delta: 1e-12, Adjacency: "label"}, nil); err == nil {
		t.Error("labels were charged to a budget of records")
	}
	if err := affords(p, rows.Spending{Epsilon: 0.5, Delta: 1e-6, Adjacency: "replacement"}, nil); err != nil {
		t.Error(err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	p := Population{1, 1e-5, account.Replacement}
	spent := []rows.Spending{{Plan: strings.Repeat("a", 64), Publisher: "Research", Epsilon: 1, Delta: 1e-6, Adjacency: "replacement", Users: 10, Method: "m"}}
	err := affords(p, rows.Spending{Epsilon: 0.1, Delta: 1e-6, Adjacency: "replacement"}, spent)
	over, is := errors.AsType[*overspent](err)
	if !is || !strings.Contains(err.Error(), "by Research with plan aaaaaaaaaaaa;") {
		t.Fatal(err)
	}
	if epsilon, err := over.fits(); epsilon > 0 || err != nil {
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
		return plan.Plan{Question: plan.Question{Histogram: &plan.Histogram{}}, Crowd: plan.Crowd{Names: crowds, Deletion: d}}
	}
	density := func(label plan.LabelEpsilon) plan.Plan {
		return plan.Plan{Question: plan.Question{Density: &plan.Density{}}, Crowd: plan.Crowd{Names: []string{"a", "b"}}, Budget: plan.Budget{LabelEpsilon: label}}
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

// affords is check after the plans before.
func affords(p Population, asked rows.Spending, earlier []rows.Spending) error {
	f, err := (&outlays{of: map[string]*outlay{}}).filter("all", p, earlier)
	if err != nil {
		return err
	}
	return p.check("all", asked, earlier, f)
}

// What a population has spent is added up as the ledger grows, and is what all of its plans come
// to; a ledger that was put in its place is added up anew.
func TestOutlaysAreTheSumOfAllPlans(t *testing.T) {
	p := Population{10, 1e-3, account.Replacement}
	of := outlays{of: map[string]*outlay{}}
	filter := func(name string, earlier []rows.Spending) account.Filter {
		f, err := of.filter(name, p, earlier)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	anew := func(earlier []rows.Spending) account.Filter {
		f, err := p.filter()
		if err != nil {
			t.Fatal(err)
		}
		return f.After(p.entries(earlier)...)
	}
	var all []rows.Spending
	for i := range 50 {
		e := 0.01 * float64(i+1)
		all = append(all, rows.Spending{Plan: fmt.Sprint(i), Epsilon: e, Delta: 1e-7 * e, Adjacency: "replacement", Shift: e / 3, Tail: 1e-9 * e, Dominated: "replacement"})
		if i%3 > 0 {
			if got, want := filter("all", all), anew(all); got != want {
				t.Fatalf("after %d plans %+v, not %+v", i+1, got, want)
			}
		}
	}
	other := slices.Clone(all)
	other[len(other)-1].Epsilon = 7
	for _, restored := range [][]rows.Spending{all[:20], other, nil, all} {
		if got, want := filter("all", restored), anew(restored); got != want {
			t.Fatalf("a ledger of %d plans in its place: %+v, not %+v", len(restored), got, want)
		}
	}
	if filter("others", all[:1]) == filter("all", all) {
		t.Error("two populations spend together")
	}
}
