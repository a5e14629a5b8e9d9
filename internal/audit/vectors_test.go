package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// The two records furthest apart keep the claims of vectors and gradients whose length devices prove, and go the whole way.
// Aggregators that add a third of the noise do not keep them.
func TestProvedLengthsThatAreSummed(t *testing.T) {
	for _, p := range []plan.Plan{example.Gradient(gradient.Vector), example.Vector(plan.VectorRound{Sums: plan.SumsClasses})} {
		p = example.Summed(p, plan.NoiseAggregators)
		p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 1, Delta: 1e-3, Adjacency: "replacement"}, 50
		adds(t, example.Design(t, p))
	}
}
