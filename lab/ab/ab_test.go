package ab

import (
	"flag"
	"fmt"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
)

var (
	runs = flag.Int("runs", 12, "experiments of each row")
	seed = flag.Uint64("seed", 1, "of all of them")
)

// Private tests cover what is true and find it about as often as tests without privacy: the rows of docs/experiments.md. Each tenth
// experiment has a plan of its own, made from 40,000 other people.
func TestExperimentsBesideTestsWithoutPrivacy(t *testing.T) {
	budget := plan.Budget{Epsilon: 1, Delta: 1e-6, DishonestShare: 0.1}
	sum := plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{Noise: plan.NoiseAggregators}}
	for i, row := range []struct {
		name  string
		bits  bool
		trial Trial
	}{
		{"minutes, 2 %", false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 10_000}},
		{"minutes, 2 %", false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 40_000}},
		{"minutes, 2 %, 1,024 bits", true, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.5, N: 40_000}},
		{"minutes, alike for all", false, Trial{People: Minutes, Before: true, Lift: 0.02, Alike: true, Share: 0.5, N: 40_000}},
		{"minutes, arms 90 : 10", false, Trial{People: Minutes, Before: true, Lift: 0.02, Share: 0.1, N: 40_000}},
		{"log-normal 1.5, 5 %", false, Trial{People: Heavy, Before: true, Lift: 0.05, Share: 0.5, N: 10_000}},
		{"log-normal 1.5, 5 %", false, Trial{People: Heavy, Before: true, Lift: 0.05, Share: 0.5, N: 40_000}},
		{"conversion 5 %, 5 %", false, Trial{People: Conversion, Lift: 0.05, Share: 0.5, N: 40_000}},
	} {
		var o Outcome
		capped := 0
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
				var err error
				if trial, err = trial.Fit(r, 40_000); err != nil {
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
		if o.Covers < 0.6*o.Runs {
			t.Errorf("%s: covers %v of %v", row.name, o.Covers, o.Runs)
		}
	}
}
