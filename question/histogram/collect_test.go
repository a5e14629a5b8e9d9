package histogram_test

import (
	"strings"
	"testing"

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
