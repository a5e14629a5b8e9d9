package histogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Over a large domain one message of k-ary response errs no more than one-hot's many, at
// equal epsilon; the other randomizers answer where it cannot.
func TestCompareRandomizers(t *testing.T) {
	p := example.Histogram(example.OneHot(plan.Attribute{Name: "word", Kind: "categories", Size: 1000}))
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"}
	p.Crowd.Minimum = 10_000
	p.Question.Histogram.Randomizer = plan.Randomizer{Accounting: "exact"}
	answers, err := histogram.CompareRandomizers(p)
	if err != nil || len(answers) != 3 {
		t.Fatal(len(answers), err)
	}
	best := answers[0]
	if name := best.Plan.Question.Histogram.Randomizer.Name; name != "krr" || best.Envelopes != 1 {
		t.Errorf("%s is preferred, with %d envelopes", name, best.Envelopes)
	}
	for _, a := range answers[1:] {
		if a.Error < best.Error/1.1 || a.Envelopes < 10 {
			t.Errorf("%s errs by %v with %d envelopes, krr by %v", a.Plan.Question.Histogram.Randomizer.Name, a.Error, a.Envelopes, best.Error)
		}
	}
	if math.Abs(best.Error-6.7) > 0.1 { // 5.6 of a value that nobody holds
		t.Errorf("krr errs by %v, want 6.7: by stronger clones it was 15", best.Error)
	}
	why := histogram.Preferred(answers)
	if !strings.HasPrefix(why, "krr: ") || !strings.Contains(why, "one-hot-asymmetric errs by") {
		t.Error(why)
	}
	chosen, again, err := histogram.Choose(p)
	if err != nil || again != why || chosen.Question.Histogram.Randomizer.Name != "krr" {
		t.Errorf("%q, %v", again, err)
	}
	p.Budget.Adjacency = "removal"
	if answers, err := histogram.CompareRandomizers(p); err != nil || len(answers) != 2 {
		t.Error("removal", len(answers), err)
	}
	p.Question.Histogram.Randomizer.Fragments = 4
	if answers, err := histogram.CompareRandomizers(p); err != nil || len(answers) != 1 || histogram.Preferred(answers) == "" {
		t.Error("fragments", len(answers), err)
	}
}
