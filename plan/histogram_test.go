package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// histogram is a valid plan of a histogram with two attributes in two crowds, with
// report fragments; tests change one thing at a time.
func histogram() Plan {
	p := sample()
	p.Title = "What do people drink, and when do they rise?"
	p.Question = Question{Kind: "histogram", Unfit: "reference", Histogram: &Histogram{
		Attributes: []Attribute{
			{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea"}, Others: true},
			{Name: "rising", Kind: "buckets", Low: 4, High: 12, Cells: 16},
		},
		Collect: CollectSample,
		Randomizer: Randomizer{Name: "one-hot", Accounting: "exact", Epsilon: 3, Keep: 0.9375, Flip: 0.0625,
			Fragments: 4, Backstop: 4, BackstopKeep: 0.96875, BackstopFlip: 0.03125},
	}}
	p.Budget = Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.05}
	p.Crowd.Names, p.Crowd.Deletion = []string{"north", "south"}, &Deletion{Epsilon: 1, Delta: 1e-6, Noise: 0.5, Threshold: 27}
	return p
}

func TestHistogramIsGolden(t *testing.T) {
	if err := histogram().Validate(); err != nil {
		t.Fatal(err)
	}
	golden(t, "histogram.json", append(histogram().Canonical(), '\n'))
	p, err := Parse(histogram().Canonical())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(histogram(), p); diff != "" {
		t.Errorf("the canonical form reads back another plan:\n%s", diff)
	}
}

// A kind that ended is refused by its name, with what it had and with what to ask in its place. A kind that nobody
// knows is not taken for it.
func TestPlansOfAKindThatEnded(t *testing.T) {
	text := histogram().Canonical()
	for kind, ended := range map[string]bool{`"kind":"prefixes","search":{"alphabet":"ab","ahead":1,"rate":0.01}`: true, `"kind":"suffixes","search":{}`: false} {
		_, err := Parse(bytes.Replace(text, []byte(`"kind":"buckets"`), []byte(kind), 1))
		const want = "plan: question.histogram.attributes[1].kind: prefixes ended with plan version 4: use strings"
		if err == nil || strings.HasPrefix(err.Error(), want) != ended {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
