package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// fewTables returns a plan of tables of three columns.
func fewTables(t testing.TB) plan.Plan {
	p := example.Table()
	p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
	return example.Design(t, p)
}

// The two records furthest apart keep the claims of mixed bits, and go the whole way.
func TestTablesThatAreMixed(t *testing.T) {
	mixes(t, fewTables(t))
}
