package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// Through three instances the same devices give the tallies that they give
// through one, but for the size of the smallest batch.
func TestInstancesAddUpToOne(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p := sample(bitsum, 2)
		p.Envelopes.PerDevice = min(24, p.Envelopes.PerDevice) // what outgrows them is dropped in both
		p.Budget.LabelEpsilon = 2
		for i := range 2 {
			p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{{Operator: fmt.Sprint("hop of ", i)}}})
		}
		proto, keys := runnable(t, p)
		values := population(60, 2)
		const seed = 6
		col, err := simulate.Full(proto, keys, values, seed, quiet)
		if err != nil {
			t.Fatal(err)
		}
		want := unsealed(t, proto, values, func(i int) *rand.Rand { return seeded.New(seed, uint64(i)) })
		if diff := cmp.Diff(want, col.Crowds, cmpopts.IgnoreFields(tally.Crowd{}, "Smallest")); diff != "" {
			t.Errorf("%s (-one +three):\n%s", bitsum, diff)
		}
		for _, c := range col.Crowds {
			if c.Smallest < p.Crowd.Minimum || c.Smallest > c.Respondents/3 {
				t.Errorf("%s: the smallest of three batches holds %d of %d", bitsum, c.Smallest, c.Respondents)
			}
		}
	}
}
