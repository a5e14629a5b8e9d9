package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/density"
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

// Two epochs, sealed under a plan each, learn what one collection of the same
// reports would have.
func TestEpochsAddUpToOne(t *testing.T) {
	p := sample("rr", 3)
	values := population(60, 3)
	all := []tally.Crowd{}
	var parts []*density.Model
	var last *protocol.Protocol
	for day, here := range [][]question.Value{values[:35], values[35:]} {
		p.Times.Opens = time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
		proto, keys := runnable(t, p)
		col, err := simulate.Full(proto, keys, here, uint64(day), quiet)
		if err != nil {
			t.Fatal(err)
		}
		learned, err := proto.Learn(col.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		parts, last = append(parts, learned.(*density.Model)), proto
		for crowd, c := range col.Crowds {
			if day == 0 {
				all = append(all, tally.Crowd{Tally: proto.NewTally()})
			}
			if err := all[crowd].Merge(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	merged, err := results.Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	learned, err := last.Learn(all)
	if err != nil {
		t.Fatal(err)
	}
	one, err := results.NewClassifier(learned.(*density.Model))
	if err != nil {
		t.Fatal(err)
	}
	x := blas32.General{Rows: 2, Cols: 3, Stride: 3, Data: []float32{1, 0, 0, 0, 0.6, 0.8}}
	got, err := merged.Classify(x)
	if err != nil {
		t.Fatal(err)
	}
	want, err := one.Classify(x)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 1e-12)); diff != "" {
		t.Errorf("(-one collection +two epochs):\n%s", diff)
	}
}
