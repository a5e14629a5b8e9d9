package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// fewTables returns a plan of tables of three columns, mixed or with noise of aggregators.
func fewTables(t testing.TB, by string) plan.Plan {
	p := example.Table()
	if by != "" {
		p = example.Summed(p, by)
	}
	p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
	return example.Design(t, p)
}

// The two records furthest apart keep the claims of mixed bits, and go the whole way.
func TestTablesThatAreMixed(t *testing.T) {
	mixes(t, fewTables(t, ""))
}

// The two records furthest apart keep the claims of sums, and most is found of them. Aggregators that add a third of the
// noise do not.
func TestTablesThatAreSummed(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		adds(t, fewTables(t, by))
	}
}
