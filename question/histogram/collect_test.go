package histogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Of four attributes: at one central epsilon splitting errs half as much as sampling,
// and costs four times the local epsilon. Both factors are somewhat larger, since the
// noise here is so small (some 40 flips in a count) that its tails are Poisson's,
// which composition makes normal.
func TestCompareCollect(t *testing.T) {
	var h plan.Histogram
	for _, name := range []string{"a", "b", "c", "d"} {
		h.Attributes = append(h.Attributes, plan.Attribute{Name: name, Kind: "categories", Size: 50})
	}
	h.Randomizer = plan.Randomizer{Name: "one-hot", Accounting: "exact"}
	p := example.Histogram(h)
	p.Crowd.Minimum = 100_000
	sample, split, why, err := histogram.CompareCollect(p)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := sample.Rare / split.Rare; ratio < 1.95 || ratio > 2.7 {
		t.Errorf("errors of a rare value %v and %v: ratio %v", sample.Rare, split.Rare, ratio)
	}
	if !(sample.Common > 1.5*split.Common) {
		t.Errorf("errors of a common value %v and %v", sample.Common, split.Common)
	}
	if ratio := split.Local.Epsilon / sample.Local.Epsilon; ratio < 3.95 || ratio > 4.5 {
		t.Errorf("local epsilons %v and %v: ratio %v", sample.Local.Epsilon, split.Local.Epsilon, ratio)
	}
	for _, c := range []histogram.Collecting{sample, split} {
		if err := protocol.Check(c.Plan); err != nil {
			t.Error(err)
		}
	}
	if !strings.HasPrefix(why, "sample:") || !strings.Contains(why, "protects nobody") { // split's is above 20
		t.Error(why)
	}
	if chosen, _, err := histogram.Choose(p); err != nil || chosen.Question.Histogram.Collect != "sample" || chosen.Name() != sample.Plan.Name() {
		t.Error("the plan chosen is not that of sample:", err)
	}
	p.Crowd.Minimum = 2000
	_, _, why, err = histogram.CompareCollect(p)
	if err != nil || !strings.HasPrefix(why, "split:") {
		t.Error(why, err)
	}
	if chosen, again, err := histogram.Choose(p); err != nil || again != why || chosen.Question.Histogram.Collect != "split" {
		t.Error("the plan chosen is not that of split:", err)
	}
	for _, name := range []string{"subset", "local-hash"} { // krr: TestCompareRandomizers
		h.Randomizer = plan.Randomizer{Name: name, Accounting: "exact"}
		if name == "local-hash" {
			h.Randomizer.Functions, h.Randomizer.Seed = 100, example.Seed
		}
		p := example.Histogram(h)
		p.Budget.Adjacency = "replacement"
		if sample, split, _, err := histogram.CompareCollect(p); err != nil || !(split.Rare > 0 && sample.Rare > 0) {
			t.Errorf("%s: %v, %v: %v", name, sample.Rare, split.Rare, err)
		}
	}
	_, _, _, err = histogram.CompareCollect(example.Histogram(example.OneHot(example.Drinks())))
	example.Mentions(t, err, "several attributes")
}

// A small crowd may have nobody whom chance asked for one of the attributes. Then nothing is known of it, and that is
// said: no count is without error, and those that are consistent add up.
func TestAnAttributeThatNobodyWasAskedFor(t *testing.T) {
	h := plan.Histogram{Collect: "sample", Randomizer: plan.Randomizer{Name: "krr", Accounting: "exact"}}
	for _, name := range []string{"a", "b"} {
		h.Attributes = append(h.Attributes, plan.Attribute{Name: name, Kind: "categories", Size: 4})
	}
	p := example.Histogram(h)
	p.Budget.Adjacency, p.Crowd.Minimum = "replacement", 1000
	q := example.Runnable(t, example.Design(t, p)).Question
	counts := tally.NewCounts(8, 1)
	counts.N = []uint64{4, 3, 2, 1, 0, 0, 0, 0}
	m, err := q.Learn([]tally.Crowd{{Tally: counts, Respondents: 10, Smallest: 10}})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range m.(*histogram.Model).Tables {
		sum := 0.0
		all, err := table.Consistent()
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range all {
			sum += n
			if v := table.Values[i]; !(v.StdErr > 0) {
				t.Errorf("attribute %d, cell %d: %+v", table.Attribute, i, v)
			}
		}
		if math.Abs(sum-10) > 1e-9 {
			t.Errorf("attribute %d: counts of %v people", table.Attribute, sum)
		}
	}
}
