package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// Of the two records furthest apart most of what is claimed is found, where devices prove how long a vector or a gradient is,
// and aggregators that add a third of the noise do not keep it.
func TestProvedLengthsKeepTheirClaims(t *testing.T) {
	classes := example.Vector(plan.VectorRound{Sums: plan.SumsClasses})
	for name, p := range map[string]plan.Plan{"gradient": example.Gradient(gradient.Vector), "vector": classes} {
		p = example.Summed(p, plan.NoiseAggregators)
		p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 4, Delta: 1e-3, Adjacency: "replacement"}, 50
		r, err := NewRoute(example.Design(t, p), Rounds{Count: 1}, seed(t))
		if err != nil {
			t.Fatal(err)
		}
		g := r.legs[0]
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
		n, ok := g.known.(noised)
		if !ok {
			t.Fatalf("%s: known is %T", name, g.known)
		}
		claim, err := g.claim(account.OneAggregator)
		if err != nil {
			t.Fatal(err)
		}
		const runs = 4000
		found := n.observers()[account.OneAggregator][0].Attack(claim, runs, seed(t), quiet)
		if holds(t, found); found.Lower < 0.5*claim.Epsilon {
			t.Errorf("%s: found %v of %v", name, found.Lower, claim.Epsilon)
		}
		broken := n.weakened(t, g.protocol.Plan, 1, 3)[account.OneAggregator][0].Attack(claim, runs, seed(t), quiet)
		t.Logf("%s: %v of %v; twin %v", name, found.Lower, claim.Epsilon, broken.Lower)
		stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
	}
}
