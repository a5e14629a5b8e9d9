package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/audit/drawn"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// What ships keeps to the constants of plans of every kind.
func TestConstantsAreKept(t *testing.T) {
	plans := small(t)
	for _, name := range []string{"subset", "local-hash", "hadamard", "sample", "split", "count-mean", "spread", "crowds", "asymmetric"} {
		p := example.Histograms()[name]
		if p.Crowd.Minimum = 40; name == "count-mean" || name == "sample" {
			p.Crowd.Minimum = 400
		}
		plans[name] = example.Design(t, p)
	}
	threeCells := plan.Histogram{Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 3}}}
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices} {
		plans["summed, "+by] = cellsWithNoise(t, threeCells, by)
	}
	plans["direction"], plans["cap"] = example.Design(t, example.Gradient("direction")), example.Design(t, example.Gradient("cap"))
	plans["vector"] = sumOfVectors(t, 16, 100, 2)
	plans["strings"], plans["summed strings"] = fewStrings(t, ""), fewStrings(t, plan.NoiseAggregators)
	plans["tables"], plans["summed tables"] = fewTables(t, ""), fewTables(t, plan.NoiseAggregators)
	for name, p := range plans {
		t.Run(name, func(t *testing.T) {
			all, err := route(t, p).Constants(seed(t), calm)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				t.Logf("%s: %s: %d draws, p = %.3g: %s", c.Party, c.Says, c.Draws, c.P, c.Verdict)
				if c.False() {
					t.Errorf("%s: %s: %s", c.Party, c.Says, c.Verdict)
				}
			}
		})
	}
}

// What is counted of entries that link (see drawn) is judged so, and of one that does not it is not.
func TestEntriesThatLinkAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		drawn.Order
		broken []bool
	}{
		"as it should be":      {drawn.Order{Mixings: 600, Together: 80, First: 255, Last: 265}, []bool{false, false}},
		"orders contributions": {drawn.Order{Mixings: 600, Together: 470, First: 66, Last: 64}, []bool{true, false}},
		"in order of arrival":  {drawn.Order{Mixings: 600, Together: 470, First: 130}, []bool{true, true}},
	} {
		for i, constant := range ordered(c.Order) {
			if constant.False() != c.broken[i] {
				t.Errorf("%s: %s: %s", name, constant.Says, constant.Verdict)
			}
		}
	}
}
