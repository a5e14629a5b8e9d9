package histogram_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol/design"
)

// Each sum is compared with what it rests on and what a liar can do: of shares of devices these
// are not those of aggregators' noise.
func TestEachRouteSaysWhatItRestsOn(t *testing.T) {
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "cell", Kind: "categories", Size: 64}))
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"}
	p.Crowd.Minimum = 4000
	all := design.Compare(example.Runnable(t, example.Design(t, p)))
	at := slices.IndexFunc(all, func(c question.Comparison) bool { return c.Key == "routes" })
	if at < 0 {
		t.Fatal("no routes are compared")
	}
	for start, wants := range map[string][]string{
		"summed, each aggregator's noise": {"on no respondent", "by one report"},
		"summed, shares of devices":       {"the noise of 4000 respondents", " reports at most"},
	} {
		_, said, ok := strings.Cut(all[at].Says, start)
		said, _, _ = strings.Cut(said, ";")
		for _, want := range wants {
			if !ok || !strings.Contains(said, want) {
				t.Errorf("%s: %q has no %q", start, said, want)
			}
		}
	}
}
