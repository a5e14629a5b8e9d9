package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/release"
)

// A release of a first arm that is not clear of zero tells the lift in the metric's own unit alone, and draws no percent. How even arms are
// is said of the worst of three.
func TestLiftsWithoutABase(t *testing.T) {
	p := example.Experiment()
	p.Question.Experiment.Arms = []string{"control", "new", "newer"}
	p.Question.Experiment.Metrics = []plan.Measure{{Name: "paid", High: 1, Capped: true}}
	p = example.Design(t, p)
	for base, told := range map[float64]bool{0.001: false, 0.3: true} {
		m := &experiment.Model{Asked: *p.Question.Experiment, Respondents: 15_000}
		m.Sums = lift.Sums{Variance: 70, Of: []float64{5100 * base, 5100 * (1 - base), 0, 4950 * (base + .3), 4950 * (.7 - base), 0, 4950 * base, 4950 * (1 - base), 0}}
		headline, sections, err := results.Describe(m, results.Public{})
		if err != nil {
			t.Fatal(err)
		}
		r := release.Release{Source: release.Simulation, Headline: headline, Sections: sections}
		if err := results.Words(p, example.Runnable(t, p).Question, &r); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
		lifts := r.Sections[0]
		if row := lifts.Tables[0].Rows[0]; (row[3].Low != nil) != told || (row[2].Value != nil) != told || row[4].Low == nil || (len(lifts.Figures) == 1) != told {
			t.Errorf("base %v: %+v", base, lifts)
		}
		if says := r.Answer; !strings.Contains(says, "Yes: paid (capped at 1) is up by") || strings.Contains(says, "in its own unit") == told {
			t.Errorf("base %v: %s", base, says)
		}
		// The first arm is 1.70 deviations away: by itself that comes in 9 of 100 experiments, of three arms in up to 27.
		if text := r.Sections[1].Text; !strings.Contains(text, "at most 2") {
			t.Errorf("%s", text)
		}
	}
}
