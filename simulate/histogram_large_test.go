package simulate_test

import (
	"flag"
	"math"
	"testing"
	"time"

	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/testkit/releasetest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/simulate"
)

var large = flag.Bool("large", false, "run 20,000 devices of a histogram through sealed envelopes (minutes)")

// The same loop at full fidelity: 20,000 devices over 100 values, epsilon 1, report
// fragments spread over two cascades of two hops, every envelope sealed, mixed twice
// and opened. All values that a hundredth of the devices hold are found, and every
// estimate lies within six standard errors of the truth.
func TestTwentyThousandDevicesThroughSealedEnvelopes(t *testing.T) {
	if !*large {
		t.Skip("takes minutes: run with -large")
	}
	const devices, cells = 20_000, 100
	for _, fragments := range []int{0, 2} {
		p := tiny("one-hot")
		p.Question.Histogram.Attributes = []plan.Attribute{{Name: "word", Kind: "categories", Size: cells}}
		p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.05}
		p.Crowd.Minimum, p.Envelopes.PerDevice = devices, 0
		if fragments > 0 {
			p.Question.Histogram.Randomizer.Fragments = fragments
			p.Route.Mix.Spread = plan.SpreadAll
			p.Route.Mix.Instances = append(p.Route.Mix.Instances, plan.Instance{Hops: []plan.Party{{Operator: "East"}, {Operator: "West"}}})
		}
		keys, err := simulate.NewKeys(&p)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = design.Fill(p); err != nil {
			t.Fatal(err)
		}
		proto, err := protocol.New(p)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]question.Value, devices)
		truth := make([]float64, cells)
		for i := range values {
			cell := min(cells-1, i%17*(i%23)/2) // some often, some never
			truth[cell]++
			values[i] = histogram.Answers{Values: []any{cell}}
		}
		start := time.Now()
		col, err := simulate.Full(proto, keys, values, 1, quiet)
		if err != nil {
			t.Fatal(err)
		}
		r, model, err := releasetest.Publish(proto, col.Crowds, results.Public{})
		if err != nil {
			t.Fatal(err)
		}
		table := model.(*histogram.Model).Tables[0]
		found, _ := table.HeavyHitters(0.05)
		hit := map[int]bool{}
		for _, c := range found {
			hit[c] = true
		}
		squares := 0.0
		for c, v := range table.Values {
			squares += (v.Mean - truth[c]) * (v.Mean - truth[c]) / cells
			if math.Abs(v.Mean-truth[c]) > 6*v.StdErr {
				t.Errorf("value %d: %v, truth %v", c, v, truth[c])
			}
			if truth[c] >= devices/100 && !hit[c] {
				t.Errorf("value %d, which %v devices hold, was not found", c, truth[c])
			}
		}
		t.Logf("%d fragments: %d devices sent %d envelopes in %v; RMSE %.3g, %d values found, %d dropped, %d guarantees",
			fragments, col.Devices, col.Fragments, time.Since(start).Round(time.Second/10), math.Sqrt(squares), len(found), col.Dropped, len(r.Guarantees))
	}
}
