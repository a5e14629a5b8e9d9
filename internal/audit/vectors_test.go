package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// Of the two records furthest apart a part of what is claimed of vectors and gradients is found whose length devices prove, and
// aggregators that add a sixth of the noise do not keep the claim.
func TestProvedLengthsThatAreSummed(t *testing.T) {
	for _, p := range []plan.Plan{example.Gradient(gradient.Vector), example.Vector(plan.VectorRound{Sums: plan.SumsClasses})} {
		p = example.Summed(p, plan.NoiseAggregators)
		p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
		g := route(t, example.Design(t, p)).legs[0]
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
		n := g.known.(noised)
		claim, err := g.claim(account.OneAggregator)
		if err != nil {
			t.Fatal(err)
		}
		found := n.observers()[account.OneAggregator][0].Attack(claim, 8000, seed(t), quiet)
		if holds(t, found); found.Lower < 0.15*claim.Epsilon {
			t.Errorf("%s: found %v of %v", p.Question.Kind, found.Lower, claim.Epsilon)
		}
		broken := n.weakened(t, g.protocol.Plan, 0, 6)[account.OneAggregator][0].Attack(claim, 8000, seed(t), quiet)
		t.Logf("%s: %v of %v; twin %v", p.Question.Kind, found.Lower, claim.Epsilon, broken.Lower)
		stattest.Caught(t, func(tb testing.TB) { holds(tb, broken) })
	}
}
