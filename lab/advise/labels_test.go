package advise

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/plan"
)

// Which way is recommended follows from who is trusted, how many answer, and whether reports by
// themselves are clear already. Every promise is of the label and keeps what was asked.
func TestWaysOfLabels(t *testing.T) {
	for name, c := range map[string]struct {
		task Labels
		want string
	}{
		"an honest shuffler":          {Labels{Users: 9_000, Classes: 10, Features: 20, Epsilon: 0.5}, plan.LabelClusters},
		"nobody":                      {Labels{Users: 9_000, Classes: 10, Features: 20, LocalEpsilon: 1}, plan.LabelEach},
		"reports clear already":       {Labels{Users: 9_000, Classes: 10, Epsilon: 2}, plan.LabelEach},
		"few clusters":                {Labels{Users: 9_000, Classes: 10, Features: 20, Clusters: 4, Epsilon: 0.5}, plan.LabelSums},
		"few clusters, and no sums":   {Labels{Users: 9_000, Classes: 10, Clusters: 4, Epsilon: 0.5}, plan.LabelClusters},
		"both, which no sum can hold": {Labels{Users: 9_000, Classes: 10, Features: 20, Clusters: 4, Epsilon: 0.5, LocalEpsilon: 1}, plan.LabelClusters},
	} {
		c.task.Delta = 1e-6
		a, err := CompareLabels(c.task)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a.Best < 0 || a.Ways[a.Best].Report != c.want || a.Reason == "" {
			t.Errorf("%s: %d of %+v, want %s", name, a.Best, a.Ways, c.want)
		}
		for _, w := range a.Ways {
			if w.Excluded != "" {
				continue
			}
			if g := w.Guarantee; g.Adjacency != account.Label || c.task.Epsilon > 0 && g.Epsilon > c.task.Epsilon || !(w.RMSE > 0) || !(w.Misnamed > 0) {
				t.Errorf("%s: %+v", name, w)
			}
			if c.task.LocalEpsilon > 0 && w.Local > c.task.LocalEpsilon {
				t.Errorf("%s: %s has a local epsilon of %v", name, w.Report, w.Local)
			}
		}
	}
	a, err := CompareLabels(Labels{Users: 200, Classes: 10, Epsilon: 0.01, Delta: 1e-6})
	if err != nil || !strings.Contains(a.Reason, "Noise hides the label") {
		t.Errorf("what tells nothing is recommended as %q (%v)", a.Reason, err)
	}
	for want, task := range map[string]Labels{
		"users":    {Users: 1, Classes: 10, Epsilon: 1, Delta: 1e-6},
		"values":   {Users: 100, Classes: 1, Epsilon: 1, Delta: 1e-6},
		"clusters": {Users: 100, Classes: 2, Clusters: 51, Epsilon: 1, Delta: 1e-6},
		"features": {Users: 100, Classes: 2, Features: -1, Epsilon: 1, Delta: 1e-6},
	} {
		if _, err := CompareLabels(task); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A lead of so many errors is overtaken as often as two normal numbers say, for each other label.
func TestMisnamed(t *testing.T) {
	for lead, want := range map[float64]float64{0: 0.5, math.Sqrt2: 0.158655, 2 * math.Sqrt2: 0.0227501} {
		if got := misnamed(2, lead); math.Abs(got-want) > 1e-5 {
			t.Errorf("lead %v: %v, want %v", lead, got, want)
		}
		if got := misnamed(11, lead); math.Abs(got-math.Min(1, 10*want)) > 1e-4 {
			t.Errorf("lead %v of eleven: %v", lead, got)
		}
	}
}
