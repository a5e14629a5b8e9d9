package audit

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/audit/report"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

var shares = flag.Bool("shares", false, "hold what attacks find of plans that are not broken to its bars, at three seeds of up to 500,000 collections (ten minutes of two cores)")

// unbroken is a plan that keeps its promise, and how much of that an attack finds.
type unbroken struct {
	name     string
	plan     plan.Plan
	rounds   int
	observer string  // "": of all rounds together
	runs     int     // of -shares
	bar      float64 // of what is claimed, found at every seed of -shares
	quick    int     // collections without that flag; 0: none
	sure     float64 // of what is claimed, which these prove but for one chance in a million: two deviations or more below their mean over seeds
}

// unbrokens are the plans of docs/auditing-evidence.md, with a public seed.
func unbrokens(seed string) []unbroken {
	budget := plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}
	vectors := func(n int) plan.Plan {
		p := example.Vector(plan.VectorRound{Sums: plan.SumsFeatures, Answered: 4})
		p.Question.Vector.Features, p.Question.Vector.Classes, p.Question.Vector.Seed = 4, nil, seed
		p.Budget, p.Crowd.Minimum = budget, n
		return p
	}
	four := func(by string) plan.Plan {
		p := example.Histogram(plan.Histogram{
			Attributes: []plan.Attribute{{Name: "drink", Kind: "categories", Size: 4}},
			Randomizer: plan.Randomizer{Name: by, Accounting: "exact"},
		})
		p.Budget, p.Crowd.Minimum = budget, 60
		return p
	}
	summed := func(noise string) plan.Plan {
		p := example.Summed(four(plan.RandomizerNone), noise)
		p.Question.Histogram.Randomizer.Accounting = ""
		return p
	}
	directions := example.Gradient("direction")
	directions.Budget = plan.Budget{LocalEpsilon: 2, Delta: 1e-3, Adjacency: "replacement", DishonestShare: 0.1}
	directions.Crowd.Minimum = 30
	return []unbroken{
		{"vectors of 60", vectors(60), 1, account.ShufflerHonest, 500_000, 0.5, 0, 0.1}, // quickly those of 100 are attacked, and three rounds of 60
		{"vectors of 100", vectors(100), 1, account.ShufflerHonest, 500_000, 0.5, 81_920, 0.15},
		{"three rounds of vectors", vectors(60), 3, "", 100_000, 0.3, 10_240, 0.1},
		{"k-ary response", four("krr"), 1, account.ShufflerHonest, 200_000, 0.6, 20_480, 0.12},
		{"directions", directions, 1, account.ShufflerHonest, 150_000, 0.8, 20_480, 0.15},
		{"directions, everyone", directions, 1, account.EveryoneColludes, 40_000, 0.8, 4096, 0.65},
		{"sums, noise of aggregators", summed(plan.NoiseAggregators), 1, account.OneAggregator, 40_000, 0.9, 8192, 0.6},
		{"sums, noise of devices", summed(plan.NoiseDevices), 1, account.OneAggregator, 40_000, 0.9, 4096, 0.5},
	}
}

// attacked are the findings of each of its observer's attacks.
func (u unbroken) attacked(t testing.TB, runs int, seed uint64) (all []Finding) {
	t.Helper()
	r, err := NewRoute(example.Design(t, u.plan), Rounds{Count: u.rounds}, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range r.legs {
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
	}
	claim, err := report.Claim(r.all.Guarantee)
	views := r.every
	if u.observer != "" {
		claim, err = r.legs[0].claim(u.observer)
		views = func() []Observed { return r.legs[0].observers()[u.observer] }
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range views() {
		all = append(all, o.Attack(claim, runs, seed, quiet))
	}
	if len(all) == 0 {
		t.Fatalf("no attack before %q", u.observer)
	}
	return all
}

// proves fails unless at least a share of the claim is lost, but for one chance in a million.
func proves(t testing.TB, f Finding, share float64) {
	t.Helper()
	if !(f.Sure >= share*f.Claimed.Epsilon) {
		t.Errorf("%s: %.3g of %.3g is proved, and %.2g of it was expected", f.Attack, f.Sure, f.Claimed.Epsilon, share)
	}
}

// Attacks are as strong as docs/auditing-evidence.md says: what they find of plans that keep their promise is at
// least a share of that, at each seed of the run and of the plan's public randomness. In few collections less is proved, and
// an attacker who tosses a coin is told apart from one that looks.
func TestAttacksFindTheirShares(t *testing.T) {
	const seeds = 3
	for i, u := range unbrokens(example.Seed) {
		t.Run(u.name, func(t *testing.T) {
			if !*shares {
				if u.quick == 0 {
					t.Skip("is attacked with -shares")
				}
				u.few(t)
				return
			}
			var found []float64
			for seed := range uint64(seeds) {
				least := math.Inf(1)
				for _, f := range unbrokens(publicSeed(seed))[i].attacked(t, u.runs, seed+1) {
					holds(t, f)
					share := f.Lower / f.Claimed.Epsilon
					least = math.Min(least, share)
					t.Logf("seed %d: %.3g of %.3g (%.3f), surely %.3g: %s", seed+1, f.Lower, f.Claimed.Epsilon, share, f.Sure, f.Attack)
				}
				if found = append(found, least); least < u.bar {
					t.Errorf("seed %d: %.3f of what is claimed is found, and %.2g is the bar", seed+1, least, u.bar)
				}
			}
			mean, deviation := stat.MeanStdDev(found, nil)
			t.Logf("%.3f of what is claimed, deviation %.3f over %d seeds of %d collections; bar %.2g", mean, deviation, seeds, u.runs, u.bar)
		})
	}
}

// publicSeed is the public randomness of a plan, by a number.
func publicSeed(seed uint64) string { return strings.Repeat(fmt.Sprintf("%02x", 0x5a+seed), 32) }

// few attacks by as few collections as are quick.
func (u unbroken) few(t *testing.T) {
	for _, f := range u.attacked(t, u.quick, seed(t)) {
		t.Logf("%v (surely %v) of %v", f.Lower, f.Sure, f.Claimed.Epsilon)
		holds(t, f)
		proves(t, f, u.sure)
		blind := Observed{New: func() View { return func(r *rand.Rand, _ bool) float64 { return r.Float64() } }}
		stattest.Caught(t, func(tb testing.TB) { proves(tb, blind.Attack(f.Claimed, u.quick, 1, quiet), u.sure) })
	}
}
