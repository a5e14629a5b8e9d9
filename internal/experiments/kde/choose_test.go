package kde_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/experiments"
	"github.com/confetti-dp/confetti/internal/experiments/kde"
	"github.com/confetti-dp/confetti/plan"
)

// The kernel that is chosen is the best of those tried on the records set aside, the same
// for a seed, and not worse than the default on the test records, which it has not seen.
func TestTheKernelIsChosenOnRecordsSetAside(t *testing.T) {
	set := generated(t)
	e := experiments.Cell{Seed: 1, Runs: 1, Density: experiments.Density{Kernel: plan.Kernel{Name: "gaussian", Bandwidth: 1}, Bitsum: "rr", Accounting: account.ExactAccounting, Epsilon: 2, Delta: 1e-6}}
	best, why, err := kde.Choose(e, set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	again, whyAgain, err := kde.Choose(e, set, quiet)
	if err != nil || again != best || why != whyAgain {
		t.Errorf("%+v, then %+v, %v", best, again, err)
	}
	for _, want := range []string{"The kernel " + best.Density.Kernel.Name + " was chosen", "gaussian at bandwidth 1 ", "ip-rotated 0.", "gaussian-paired at"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
	chosen, err := kde.Run(best, set, experiments.HighestDensity, quiet)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := kde.Run(e, set, experiments.HighestDensity, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if chosen.Accuracy < plain.Accuracy-0.03 {
		t.Errorf("%s has %.3f, the default %.3f", best.Density.Kernel.Name, chosen.Accuracy, plain.Accuracy)
	}
	// What sees the records does not do worse than what sees noisy sums of few bits.
	exact, how, ok := kde.Best(set, quiet)
	if !ok || how == "" || exact < chosen.Accuracy-0.02 || exact > 1 {
		t.Errorf("exact %.3f by %s, chosen %.3f", exact, how, chosen.Accuracy)
	}
	small := *set
	small.Train = set.Train.Head(1)
	if same, why, err := kde.Choose(e, &small, quiet); err != nil || why != "" || same != e {
		t.Errorf("%+v was chosen by one record, %v: %s", same, err, why)
	}
}
