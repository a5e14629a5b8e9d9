package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// Where devices flip their bits, the sums of the same devices are the counts of their
// messages, mixed: whoever reads one reads the other.
func TestASumIsWhatAMixCounts(t *testing.T) {
	records := func(p plan.Plan, i int) question.Value {
		return vector.Record{Features: []float32{1, float32(i%5) / 5, -1}, Class: i % 2}
	}
	answers := func(p plan.Plan, i int) question.Value { return example.Answers(p, i) }
	histograms := example.Histograms()
	cases := map[string]struct {
		p     plan.Plan
		value func(p plan.Plan, i int) question.Value
	}{
		"density": {sample("rr", 3), func(_ plan.Plan, i int) question.Value { return population(i+1, 3)[i] }},
		"vector":  {example.Vector(plan.VectorRound{Sums: plan.SumsMoments, Answered: 5}), records},
		"gradient": {example.Gradient(gradient.Vector), func(p plan.Plan, i int) question.Value {
			return gradient.Labelled{Features: []float32{1, float32(i%5) / 5, -1}, Class: i % 2}
		}},
	}
	for _, name := range []string{"categories", "set", "sample", "count-mean", "krr", "local-hash"} {
		cases[name] = struct {
			p     plan.Plan
			value func(p plan.Plan, i int) question.Value
		}{histograms[name], answers}
	}
	const n, seed = 40, 11
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			routes := map[string][]tally.Crowd{}
			mixed := small(t, c.p, 1)
			summed, err := protocol.Routed(example.Summed(mixed, plan.NoiseDevices)) // the same noise
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []plan.Plan{mixed, summed} {
				proto, keys := runnable(t, p)
				if p.Question.Gradient != nil {
					proto = stated(t, proto)
				}
				values := make([]question.Value, n)
				for i := range values {
					values[i] = c.value(p, i)
				}
				col, err := simulate.Full(proto, keys, values, seed, quiet)
				if err != nil {
					t.Fatal(err)
				}
				routes[p.Route.Kind] = col.Crowds
			}
			if diff := cmp.Diff(routes[plan.RouteMix], routes[plan.RouteSum]); diff != "" {
				t.Errorf("crowds differ (-mixed +summed):\n%s", diff)
			}
			if routes[plan.RouteSum][0].Respondents == 0 {
				t.Error("nobody was counted")
			}
		})
	}
}

// small is a plan that was designed for some, and lets few be counted.
func small(t *testing.T, p plan.Plan, minimum int) plan.Plan {
	t.Helper()
	p.Crowd.Minimum = 200
	p.Crowd.Maximum = 0
	p = example.Design(t, p)
	p.Crowd.Minimum, p.Budget.DishonestShare = minimum, 0
	return p
}

// stated is the protocol with the state of its first round.
func stated(t *testing.T, proto *protocol.Protocol) *protocol.Protocol {
	t.Helper()
	state, _, err := proto.Question.(question.Stepper).Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := proto.Plan
	p.State = plan.StateName(state)
	if proto, err = protocol.WithState(p, state); err != nil {
		t.Fatal(err)
	}
	return proto
}

func TestASmallSumIsWithheld(t *testing.T) {
	proto, keys := runnable(t, small(t, example.Summed(sample("rr", 2), plan.NoiseDevices), 8))
	col, err := simulate.Full(proto, keys, population(15, 2), 1, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if col.Crowds[0].Respondents != 10 || col.Crowds[1].Tally != nil || len(col.Withheld) != 1 || !strings.Contains(col.Withheld[0], "crowd 2: fewer than 8") {
		t.Errorf("crowds %+v, withheld %q", col.Crowds, col.Withheld)
	}
}

// By law and at full fidelity a sum with the aggregators' noise has the same errors: those
// that are stated. The twin states half of them.
func TestNoisedSumsErrAsStated(t *testing.T) {
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared, plan.NoiseDevices} {
		p := example.Summed(example.Histogram(plan.Histogram{Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 200}}}), noise)
		p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
		p.Budget.Adjacency = "replacement"
		proto, keys := runnable(t, small(t, p, 10))
		values := make([]question.Value, 30)
		for i := range values {
			values[i] = histogram.Answers{Values: []any{i % 201}} // one value is none of the plan's
		}
		for _, collect := range []func(seed uint64) (simulate.Collection, error){
			func(seed uint64) (simulate.Collection, error) { return simulate.Full(proto, keys, values, seed, quiet) },
			func(seed uint64) (simulate.Collection, error) {
				return simulate.Law(proto, distribution.Values(values), seed, quiet)
			},
		} {
			var off []float64
			for seed := range uint64(15) {
				col, err := collect(seed)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range proto.Estimate(col.Crowds)[0] {
					truth := 0.0
					if i < 30 {
						truth = 1
					}
					off = append(off, (v.Mean-truth)/v.StdErr)
				}
			}
			squares := make([]float64, len(off))
			for i, z := range off {
				squares[i] = z * z
			}
			const fourth = 5 // the variance of the square of a Laplace, the heaviest of these
			stattest.Mean(t, 1, fourth, squares)
			for i := range squares {
				squares[i] *= 4
			}
			stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, fourth, squares) })
		}
	}
}

// So does a sketch of such sums, over sketches: here the noise is most of what it errs by.
func TestNoisedSketchesErrAsStated(t *testing.T) {
	for _, name := range []string{"count-mean", "count"} {
		p := example.Summed(example.Histogram(plan.Histogram{
			Attributes: []plan.Attribute{{Name: "cell", Kind: "categories", Size: 12}},
			Sketch:     &plan.Sketch{Name: name, Hashes: 4, Width: 16},
		}), plan.NoiseAggregators)
		p.Budget.Adjacency = "replacement"
		values := make([]question.Value, 30)
		for i := range values {
			values[i] = histogram.Answers{Values: []any{i % 10}}
		}
		var squares []float64
		for seed := range uint64(200) {
			of := *p.Question.Histogram.Sketch
			of.Seed = fmt.Sprintf("%064x", seed)
			h := *p.Question.Histogram
			h.Sketch, p.Question.Histogram = &of, &h
			proto, _ := runnable(t, small(t, p, 10))
			col, err := simulate.Law(proto, distribution.Values(values), seed, quiet)
			if err != nil {
				t.Fatal(err)
			}
			v := proto.Estimate(col.Crowds)[0][3]
			squares = append(squares, (v.Mean-3)*(v.Mean-3)/(v.StdErr*v.StdErr))
		}
		const fourth = 5
		stattest.Mean(t, 1, fourth, squares)
		for i := range squares {
			squares[i] *= 4
		}
		stattest.Caught(t, func(tb testing.TB) { stattest.Mean(tb, 1, fourth, squares) })
	}
}
