package protocol_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// stairs are plans of every way to answer, whose guarantee rounds respondents in ways of their own.
func stairs() map[string]plan.Plan {
	histograms := example.Histograms()
	plans := map[string]plan.Plan{"strings": example.Strings(), "vectors of gradients": example.Gradient("vector"), "vectors": example.Vector(plan.VectorRound{Sums: plan.SumsMoments, Answered: 5})}
	for _, bitsum := range []string{"rr", "3nb", "poisson", "nb"} {
		plans[bitsum] = example.Density(bitsum)
	}
	for _, name := range []string{"replacement", "asymmetric", "fragments", "krr", "subset", "local-hash", "hadamard"} {
		plans[name] = histograms[name]
	}
	rotated := example.Density("rr")
	rotated.Question.Density.Kernel = plan.Kernel{Name: "ip-rotated", Clip: 2, Seed: strings.Repeat("00", 32)}
	rotated.Question.Density.Dimension, rotated.Question.Density.Repetitions, rotated.Question.Density.Normalize = 64, 1, true
	rotated.Crowd.Minimum = 3000
	plans["rotated"] = rotated
	buckets := example.Density("rr")
	buckets.Question.Density.Kernel = plan.Kernel{Name: "laplacian", Bandwidth: 1, Buckets: 8, Seed: strings.Repeat("5a", 32)}
	plans["buckets"] = buckets
	return plans
}

// rises returns the first number of respondents above those planned for whose epsilon is above what is promised of
// those, or 0.
func rises(t *testing.T, proto *protocol.Protocol, with func(honest int) int) int {
	t.Helper()
	planned := proto.Plan.MinHonest()
	least, err := proto.GuaranteeWith(planned)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []int{1, 2, 17, planned/20 + 1, 3 * planned} {
		if g, err := proto.GuaranteeWith(with(planned + more)); err != nil || g.Epsilon > least.Epsilon {
			return planned + more
		}
	}
	return 0
}

// A promise that holds of the respondents that a plan counts on holds of one more, and of many more, however the kind
// rounds their number. The twin rounds it down below the plan's own and must be caught.
func TestOneRespondentMoreKeepsEveryPromise(t *testing.T) {
	for name, p := range stairs() {
		t.Run(name, func(t *testing.T) {
			proto := example.Runnable(t, example.Design(t, p))
			if n := rises(t, proto, func(honest int) int { return honest }); n > 0 {
				t.Errorf("of %d respondents less is promised than of the plan's %d", n, proto.Plan.MinHonest())
			}
			if rises(t, proto, func(honest int) int { return honest - honest%(proto.Plan.MinHonest()*7/8) }) == 0 {
				t.Error("nobody misses an eighth of the plan's respondents: nothing is tested")
			}
		})
	}
}
