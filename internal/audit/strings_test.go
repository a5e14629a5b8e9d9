package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// fewStrings returns a plan of strings of a small code, mixed or with noise of aggregators.
func fewStrings(t testing.TB, by string) plan.Plan {
	p := example.Strings()
	s := p.Question.Strings
	s.Answered, s.Cells, s.Tail, s.Buckets, s.Pairs = 8, 4, 1, 2, 0
	if by != "" {
		p, s.Answered = example.Summed(p, by), 0
	}
	p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
	return example.Design(t, p)
}

// The two strings furthest apart keep the claims of mixed bits, and go the whole way.
func TestStringsThatAreMixed(t *testing.T) {
	mixes(t, fewStrings(t, ""))
}

// The two strings furthest apart keep the claims of sums, and most is found of them. Aggregators that add a third of the
// noise do not.
func TestStringsThatAreSummed(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		adds(t, fewStrings(t, by))
	}
}
