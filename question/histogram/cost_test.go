package histogram_test

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/release/statement"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/release"
)

// The mean that a plan states is that of what devices with the longest answers send.
// Among 2,000 a mean that is off by 0.14 deviations is caught: that of a sketch whose
// other rows are counted too, say, is off by 1.6.
func TestMessagesExpected(t *testing.T) {
	for name, cells := range map[string]int{"set": 8, "split": 4 + 16 + 8, "fragments": 4, "spread": 4, "count": 16} {
		t.Run(name, func(t *testing.T) {
			p := example.Design(t, example.Histograms()[name])
			proto := example.Runnable(t, p)
			cost := map[string]float64{}
			for _, m := range statement.Cost(proto) {
				cost[m.Name] = m.Value
			}
			items := 0
			for _, a := range p.Question.Histogram.Attributes {
				items += a.Items()
			}
			symbol, err := proto.Encode(example.Answers(p, 1)) // of two items, where there is a set
			if err != nil {
				t.Fatal(err)
			}
			r := stattest.Rand(t)
			draws := make([]float64, 2000)
			for i := range draws {
				report, err := proto.Randomize(r, symbol, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range report.Parts {
					draws[i] += float64(len(part))
				}
			}
			z := p.Question.Histogram.Randomizer
			if z.Fragments <= 1 {
				z.BackstopKeep = 1
			}
			variance := float64(items)*sent(z, z.BackstopKeep) + float64(cells-items)*sent(z, z.BackstopFlip)
			stattest.Mean(t, cost["messages_expected"], variance, draws)
			stattest.Caught(t, func(tb testing.TB) {
				stattest.Mean(tb, cost["messages_expected"]+0.2*math.Sqrt(variance), variance, draws)
			})
			if rare := cost["overflow_probability"]; rare > 1e-6 {
				t.Errorf("overflow %v", rare)
			}
		})
	}
}

// sent is the variance of what is sent for a cell that is in the backstop with
// probability Kept: given that, the fragments are independent.
func sent(z plan.Randomizer, kept float64) float64 {
	tau := math.Max(1, float64(z.Fragments))
	mixed := kept*z.Keep*(1-z.Keep) + (1-kept)*z.Flip*(1-z.Flip)
	return tau*mixed + tau*tau*kept*(1-kept)*(z.Keep-z.Flip)*(z.Keep-z.Flip)
}

// A grid is drawn, all its cells and not that for others.
func TestGridIsDrawn(t *testing.T) {
	p := example.Histograms()["grid"]
	p.Question.Histogram.Attributes[0].Others = true
	p = example.Design(t, p)
	proto := example.Runnable(t, p)
	tallies := example.Crowds(proto)
	tallies[0].Respondents = 2000
	example.Cells(tallies[0])[11], example.Cells(tallies[0])[12] = 1500, 1900 // the last of the grid, and the others
	model, err := proto.Learn(tallies)
	if err != nil {
		t.Fatal(err)
	}
	_, sections, err := results.Describe(model, results.Public{})
	if err != nil {
		t.Fatal(err)
	}
	r := release.Release{Sections: sections}
	if err := results.Words(proto.Plan, proto.Question, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Sections[0].Figures {
		if f.Kind != release.Heat {
			continue
		}
		if g := f.Grid; g.Columns != 4 || g.Rows() != 3 || g.Values[11] != g.Largest() || g.Top != 1 {
			t.Errorf("the grid is %+v", g)
		}
		if err := f.Validate(); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("there is no picture of the grid")
}
