package aggregator_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dap/task"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/party/aggregator"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/simulate"
)

// No share of a sum leaves an aggregator, whichever it is, while the sum is of fewer reports than the
// plan's minimum.
func TestNoShareOfTooFewReports(t *testing.T) {
	p := example.Design(t, example.Summed(example.Density("rr"), plan.NoiseDevices))
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	one, err := task.New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	pair := aggregator.NewPair([aggregator.PairBytes]byte{1})
	leader, helper := aggregator.NewLeader(one, keys.Leader, pair), aggregator.NewHelper(one, keys.Helper, pair, nil)
	few, enough := aggregator.Batch{Reports: uint64(one.Minimum) - 1}, aggregator.Batch{Reports: uint64(one.Minimum)}
	for name, share := range map[string]func(aggregator.Batch) error{
		"the leader": func(b aggregator.Batch) error { _, err := leader.Noisy(seeded.New(1), b); return err },
		"the helper": func(b aggregator.Batch) error { _, err := helper.Noisy(seeded.New(1), b); return err },
	} {
		if err := share(few); err == nil || !strings.Contains(err.Error(), "the plan's smallest") {
			t.Errorf("%s shares a sum of one report too few: %v", name, err)
		}
		if err := share(enough); err != nil {
			t.Errorf("%s shares no sum of enough: %v", name, err)
		}
	}
}
