package trend

import (
	"strings"
	"testing"

	compared "github.com/confetti-dp/confetti/internal/dp/lift"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	kind "github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/release"
)

// A round of an experiment of its own has the lift of its release, in a range that holds for all rounds of a year and so is wider
// than the release's; of too few people it tells none, and says why.
func TestARoundOfAnExperimentOfItsOwn(t *testing.T) {
	p := example.Experiment()
	p.Question.Experiment.Arms = []string{"control", "new"}
	p.Question.Experiment.Metrics = []plan.Measure{{Name: "paid", High: 1, Capped: true}}
	p = example.Design(t, p)
	for _, people := range []float64{15_000, 3000} {
		n := people / 2
		m := &kind.Model{Asked: *p.Question.Experiment, Respondents: int(people), Sums: compared.Sums{Variance: 70, Of: []float64{n * .3, n * .7, 0, n * .4, n * .6, 0}}}
		headline, sections, err := results.Describe(m, results.Public{})
		if err != nil {
			t.Fatal(err)
		}
		one, err := Read(p, release.Release{Headline: headline, Sections: sections}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := Follow([]Round{one}, "paid", "", nil)
		if !ok || !got.Relative || len(got.Lines) != 0 {
			t.Fatalf("%+v", got)
		}
		if people < compared.Fewest {
			if got.Says != "No round tells a lift." || !strings.Contains(got.Rounds[0].Unlifted, "fewer than 5000 people") {
				t.Errorf("%s: %+v", got.Says, got.Rounds)
			}
			continue
		}
		own, at := sections[0].Tables[0].Rows[0], got.Lifts[0].Points[0]
		if at.Share != *own[2].Value || at.Low >= *own[3].Low || at.High <= *own[3].High || !strings.HasPrefix(got.Says, "“new” surely had more “paid” than “control”: by ") {
			t.Errorf("%s: %+v, and the release has %+v", got.Says, at, own)
		}
		if _, err := Body([]Trend{got}); err != nil {
			t.Error(err)
		}
	}
}
