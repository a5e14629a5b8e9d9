package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/audit/adders"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// fewArms returns a plan of an experiment, mixed or with noise of aggregators.
func fewArms(t testing.TB, by string) plan.Plan {
	p := example.Experiment()
	p.Question.Experiment.Bits.Answered = 8
	if by != "" {
		p = example.Summed(p, by)
	}
	p.Budget, p.Crowd.Minimum = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: "replacement"}, 50
	return example.Design(t, p)
}

// Both ends of a metric, in one arm and in two, keep the claims of mixed bits, and go the whole way.
func TestExperimentsThatAreMixed(t *testing.T) {
	mixes(t, fewArms(t, ""))
}

// Both ends of a metric keep the claims of sums of numbers, and most is found of them. Aggregators that add a third of the noise do
// not, and of those whose noise is a fifth too small it is seen that it is not the plan's law.
func TestExperimentsThatAreSummed(t *testing.T) {
	for _, by := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := fewArms(t, by)
		r := route(t, p)
		g := r.legs[0]
		if err := g.ready(); err != nil {
			t.Fatal(err)
		}
		n := g.known.(noised)
		constants, err := n.ofAggregators(seeded.New(seed(t)))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range constants {
			if c.False() {
				t.Errorf("%s: %s: %s", by, c.Party, c)
			}
		}
		weak, fifth := n, *g.protocol.Plan.Route.Sum
		fifth.Sigma /= 1.25
		twin := g.protocol.Plan
		twin.Route.Sum = &fifth
		if weak.adders, err = adders.New(example.Runnable(t, twin), g.keys); err != nil {
			t.Fatal(err)
		}
		if constants, err = weak.ofAggregators(seeded.New(seed(t))); err != nil || !constants[0].False() {
			t.Errorf("%s: a fifth of the noise is missing, and is not seen: %v, %v", by, constants, err)
		}
		adds(t, p)
	}
}
