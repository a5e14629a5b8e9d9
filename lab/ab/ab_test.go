package ab

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

var (
	runs = flag.Int("runs", 12, "experiments of each row")
	seed = flag.Uint64("seed", 1, "of all of them")
	rows = flag.String("rows", "", "measure those alone whose name contains this, such as 'revenue'")

	public = flag.Bool("public", false, "plans are made from rows of other people, in the place of a release of tables")
)

// Private tests cover what is true and find it about as often as tests without privacy: the rows of docs/experiments.md. Each tenth
// experiment has a plan of its own, made from an earlier release of as many other people.
func TestExperimentsBesideTestsWithoutPrivacy(t *testing.T) {
	budget := plan.Budget{Epsilon: 1, Delta: 1e-6, DishonestShare: 0.1}
	sum := plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: plan.NoiseAggregators}}
	minutes, conversion := [2]float64{0.02, 80}, [2]float64{1, 0}
	for i, row := range []struct {
		name  string
		cuts  [2]float64 // of the release before
		bits  bool
		trial Trial
	}{
		{"minutes, 2 %", minutes, false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 10_000}},
		{"minutes, 2 %", minutes, false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 40_000}},
		{"minutes, 2 %, 1,024 bits", minutes, true, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 40_000}},
		{"minutes, alike for all", minutes, false, Trial{People: Minutes, Before: true, Lift: 0.02, Alike: true, Share: 0.5, N: 40_000}},
		{"minutes, arms 90 : 10", minutes, false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.1, N: 40_000}},
		{"log-normal 1.5, 5 %", [2]float64{0.003, 3000}, false, Trial{People: Heavy, Before: true, Lift: 0.05, Share: 0.5, N: 10_000}},
		{"log-normal 1.5, 5 %", [2]float64{0.003, 3000}, false, Trial{People: Heavy, Before: true, Lift: 0.05, Share: 0.5, N: 40_000}},
		{"revenue, 5 %", [2]float64{0.1, 100}, false, Trial{People: Revenue, Before: true, Lift: 0.05, Share: 0.5, N: 40_000}},
		{"conversion 5 %, 5 %", conversion, false, Trial{People: Conversion(0.05), Bits: true, Lift: 0.05, Share: 0.5, N: 40_000}},
		{"conversion .5 %, 15 %", conversion, false, Trial{People: Conversion(0.005), Bits: true, Lift: 0.15, Share: 0.5, N: 40_000}},
		{"clicks by views, 5 %", [2]float64{0.5, 200}, false, Trial{People: Clicks, Per: true, Lift: 0.05, Share: 0.5, N: 40_000}},
	} {
		if !strings.Contains(row.name, *rows) {
			continue
		}
		earlier, err := NewEarlier(row.trial.N, row.cuts[0], row.cuts[1])
		if err != nil {
			t.Fatal(err)
		}
		if *public {
			earlier = nil
		}
		var o Outcome
		capped := 0
		row.trial = row.trial.Draw(seeded.New(*seed, uint64(i)))
		trial := row.trial
		for k := range *runs {
			r := seeded.New(*seed, uint64(i), uint64(k))
			if k%10 == 0 {
				e := plan.Experiment{Arms: []string{"control", "new"}, Looks: 1, Look: 1, Metrics: make([]plan.Measure, 1)}
				trial = row.trial
				trial.Sigma = lift.Deviation(e, sum, budget, trial.N)
				if row.bits {
					trial.Sigma = lift.Deviation(e, plan.Route{}, budget, trial.N)
				}
				if trial, err = trial.Fit(r, row.trial.N, earlier); err != nil {
					t.Fatal(err)
				}
			}
			if trial.Plan.Metrics[0].Capped {
				capped++
			}
			trial.Run(r, !row.bits, &o)
		}
		fmt.Printf("%-26s n %6d, noise %5.2f, capped %3d: covers %.3f, power %.2f | plain %.3f, %.2f | adjusted %.3f, %.2f\n",
			row.name, trial.N, trial.Sigma, capped, o.Covers/o.Runs, o.Found/o.Runs, o.PlainCovers/o.Runs, o.PlainFound/o.Runs, o.AdjustedCovers/o.Runs, o.AdjustedFound/o.Runs)
		if o.Covers < 0.6*o.Runs { // of few
			t.Errorf("%s: covers %v of %v", row.name, o.Covers, o.Runs)
		}
	}
}
