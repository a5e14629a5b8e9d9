package collection_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
)

// The kernel that is chosen is the best of those tried on the records set aside, the same
// for a seed, and not worse than the default on the test records, which it has not seen.
func TestTheKernelIsChosenOnRecordsSetAside(t *testing.T) {
	set := generated(t)
	c := asked()
	c.Budget, c.Kernel, c.Repetitions = plan.Budget{Epsilon: 2, Delta: 1e-6, Adjacency: "replacement", LabelEpsilon: plan.Unprotected}, plan.Kernel{Name: "gaussian", Bandwidth: 1}, set.Dimension()
	best, why, err := c.Choose(set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	again, whyAgain, err := c.Choose(set, quiet)
	if err != nil || again != best || why != whyAgain {
		t.Errorf("%+v, then %+v, %v", best, again, err)
	}
	for _, want := range []string{"The kernel " + best.Name + " was chosen", "gaussian at bandwidth 1 ", "ip-rotated 0.", "gaussian-paired at"} {
		if !strings.Contains(why, want) {
			t.Errorf("%q lacks %q", why, want)
		}
	}
	accuracy := func(kernel plan.Kernel) float64 {
		c := c
		if c.Kernel = kernel; kernel.Name == "ip-rotated" {
			c.Repetitions = 1
		}
		out, err := c.Run(set, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return out.Release.Headline[0].Value
	}
	chosen, plain := accuracy(best), accuracy(c.Kernel)
	if chosen < plain-0.03 {
		t.Errorf("%s has %.3f, the default %.3f", best.Name, chosen, plain)
	}
	// What sees the records does not do worse than what sees noisy sums of few bits.
	exact, how, ok := measure.Best(set, quiet)
	if !ok || how == "" || exact < chosen-0.02 || exact > 1 {
		t.Errorf("exact %.3f by %s, chosen %.3f", exact, how, chosen)
	}
	small := *set
	small.Train = set.Train.Head(1)
	if same, why, err := c.Choose(&small, quiet); err != nil || why != "" || same != c.Kernel {
		t.Errorf("%+v was chosen by one record, %v: %s", same, err, why)
	}
}
