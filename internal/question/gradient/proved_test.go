package gradient_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/simulate"
)

// provedOf returns a plan of gradients of a linear model whose length devices prove, complete but for what Design fills in.
func provedOf(noise string, dimension int) plan.Plan {
	p := example.Summed(example.Gradient(gradient.Vector), noise)
	p.Question.Gradient.Dimension = dimension
	return p
}

// Devices split and prove hundreds of numbers, both aggregators verify and add noise, and the step is that of the mean gradient,
// as it is where sums are drawn by their law. The promise is the plan's.
func TestProvedGradientsGoTheWholeWay(t *testing.T) {
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := provedOf(noise, 99)
		p.Crowd.Minimum, p.Budget.Epsilon = 150, 8
		keys, err := simulate.NewKeys(&p)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = design.Rounds(p, 2); err != nil {
			t.Fatal(err)
		}
		proto, before := first(t, p)
		promise := example.Promised(t, proto)
		if s := promise.Statements; len(s) != 3 || s[0].Observer != account.BothAggregators || !math.IsInf(s[0].Guarantee.Epsilon, 1) {
			t.Errorf("%v", s)
		}
		values := wide(drinkers(stattest.Rand(t), 200), 99)
		full, err := simulate.Full(proto, keys, values, 1, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := simulate.Law(proto, distribution.Values(values), 1, func(string, int, int) {})
		if err != nil {
			t.Fatal(err)
		}
		var start gradient.State
		if err := start.UnmarshalBinary(before); err != nil {
			t.Fatal(err)
		}
		want := mean(t, proto, values)
		for name, crowds := range map[string][]tally.Crowd{"devices": full.Crowds, "law": drawn.Crowds} {
			if n := len(crowds[0].Tally.(*tally.Sums).N); n != 256 || len(want) != 200 {
				t.Fatalf("%d numbers are summed, of %d", n, len(want))
			}
			learned, err := proto.Learn(crowds)
			if err != nil {
				t.Fatal(err)
			}
			state := learned.(*gradient.Model).State
			turn := state.Turns[0]
			if turn.Respondents != 200 || !(turn.Noise > 0 && turn.Noise < 0.05) {
				t.Errorf("%s, %s: the round gave %+v", noise, name, turn)
			}
			for i, g := range want {
				if step := float64(start.Model.Params[i] - state.Model.Params[i]); math.Abs(step-g) > 6*turn.Noise {
					t.Errorf("%s, %s: number %d moved by %v, and the mean gradient there is %v, with an error of %v", noise, name, i, -step, g, turn.Noise)
				}
			}
			if state, _, err := results.Next(proto.Question, learned); err != nil || state == nil {
				t.Errorf("no second round: %v", err)
			}
		}
	}
}

// The noise of several rounds keeps the budget in all of them together, and wastes little. A hundredth less is refused.
func TestProvedRoundsKeepTheirBudgetTogether(t *testing.T) {
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		designed, err := design.Rounds(provedOf(noise, 40), 10)
		if err != nil {
			t.Fatal(err)
		}
		proto := example.Runnable(t, designed)
		all, err := proto.Rounds(10, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if one := example.Promised(t, proto).Shuffled; all.Epsilon > 1 || all.Epsilon < 0.999 || one.Epsilon >= all.Epsilon/2 || all.Adjacency != account.Replacement {
			t.Errorf("%s: %v in a round, %v in ten", noise, one, all)
		}
		less := *designed.Route.Sum
		less.Sigma *= 0.99
		designed.Route.Sum = &less
		if err := protocol.Check(designed); err == nil {
			t.Errorf("%s: a hundredth less noise is taken", noise)
		}
	}
}

// Whatever an example is, what is split of it has one length, and is no further from that of another than is charged. What
// does not fit is the middle of all numbers.
func TestProvedGradientsAreMovedAsCharged(t *testing.T) {
	r := stattest.Rand(t)
	proto, _ := first(t, example.Design(t, provedOf(plan.NoiseAggregators, 3)))
	c := proto.Plan.Route.Sum.Circuit
	var all [][]uint64
	for _, l := range []gradient.Labelled{
		{Features: []float32{20, 0, 0}}, {Features: []float32{-20, 0, 0}}, {Features: []float32{20, 0, 0}, Class: 1}, {Features: []float32{-20, 0, 0}, Class: 1},
		{Features: []float32{math.MaxFloat32, math.MaxFloat32, 1}}, {Features: []float32{float32(math.NaN()), 0, 0}}, {Features: []float32{1}}, {Features: []float32{1, 2, 3}, Class: 9},
	} {
		for range 20 {
			s, err := proto.Encode(l)
			unfit, failed := question.Fits(err)
			if failed != nil {
				t.Fatal(failed)
			}
			_, v, err := proto.Measure(r, s, nil)
			if err != nil || len(v) != c.Length {
				t.Fatalf("%d numbers: %v", len(v), err)
			}
			if middle := uint64(c.Max / 2); unfit != nil && slices.ContainsFunc(v, func(x uint64) bool { return x != middle }) {
				t.Errorf("%v: what does not fit is split as %v", unfit, v)
			}
			all = append(all, v)
		}
	}
	farthest := 0
	for _, a := range all {
		for _, b := range all {
			apart := 0
			for i := range a {
				apart += (int(a[i]) - int(b[i])) * (int(a[i]) - int(b[i]))
			}
			farthest = max(farthest, apart)
		}
	}
	if farthest > 4*c.Square || farthest < 2*c.Square {
		t.Errorf("gradients are %d apart, and %d are charged", farthest, 4*c.Square)
	}
	s, _ := proto.Encode(gradient.Labelled{Features: []float32{1, 2, 3}})
	if _, err := proto.Randomize(r, s, nil); err == nil {
		t.Error("a whole gradient was made messages")
	}
	if _, _, err := proto.Measure(r, "tea", nil); err == nil {
		t.Error("a text was split")
	}
}

// A plan with another bound than its question's, with bits, with a local epsilon or with other steps is refused.
func TestProvedPlansAreChecked(t *testing.T) {
	good := example.Design(t, provedOf(plan.NoiseAggregators, 20))
	if err := protocol.Check(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(p *plan.Plan, r *plan.GradientReport){
		"circuit":       func(p *plan.Plan, _ *plan.GradientReport) { p.Route.Sum.Circuit.Square++ },
		"bits":          func(_ *plan.Plan, r *plan.GradientReport) { r.Bits = 4 },
		"flip":          func(_ *plan.Plan, r *plan.GradientReport) { r.Flip = 0.1 },
		"steps":         func(_ *plan.Plan, r *plan.GradientReport) { r.Steps = 16 },
		"local_epsilon": func(p *plan.Plan, _ *plan.GradientReport) { p.Budget.LocalEpsilon = 1 },
	} {
		p := good
		route, ask := *p.Route.Sum, *p.Question.Gradient
		p.Route.Sum, p.Question.Gradient = &route, &ask
		edit(&p, &ask.Report)
		example.Mentions(t, protocol.Check(p), name)
	}
	mixed := example.Design(t, example.Gradient(gradient.Vector))
	mixed.Question.Gradient.Report.Steps = 15
	example.Mentions(t, protocol.Check(mixed), "steps")
	for name, edit := range map[string]func(p *plan.Plan){
		"too many": func(p *plan.Plan) { p.Question.Gradient.Dimension = 20_000 },
		"bits":     func(p *plan.Plan) { p.Question.Gradient.Report.Bits = 8 },
		"local":    func(p *plan.Plan) { p.Budget.LocalEpsilon = 2 },
		"cap":      func(p *plan.Plan) { p.Question.Gradient.Report.Name = gradient.Cap },
	} {
		p := provedOf(plan.NoiseAggregators, 20)
		if edit(&p); name == "cap" {
			p.Budget.LocalEpsilon = 2
		}
		if _, err := design.Fill(p); err == nil {
			t.Errorf("%s: designed", name)
		}
	}
}

// Golden vectors let a second implementation find its first wrong step. They change only with the format's version. Do
// not edit to pass.
var update = flag.Bool("update", false, "write the golden vectors anew (only for a new version of the format)")

type golden struct {
	Comment  string          `json:"comment"`
	Plan     json.RawMessage `json:"plan"` // canonical form, of the first round
	Seed     uint64          `json:"seed"` // of coins: ChaCha8, one stream a device, a uniform number for each of the vector
	Circuit  plan.Circuit    `json:"circuit"`
	Gradient [][]float64     `json:"gradients"`
	Whole    [][]uint64      `json:"whole"` // what is split of each
	Mean     []float64       `json:"mean"`  // of what is split
}

func TestGoldenProvedGradients(t *testing.T) {
	p := provedOf(plan.NoiseAggregators, 3)
	p.Crowd.Minimum, p.Question.Gradient.Report.Steps = 2, 15
	p.Route.Sum.Law, p.Route.Sum.Sigma, p.Budget.Epsilon = plan.LawGaussian, 200, 8
	p, err := protocol.Routed(p)
	if err != nil {
		t.Fatal(err)
	}
	proto := example.Runnable(t, p)
	g := golden{Comment: "A gradient is divided by the clip, rotated, multiplied, rounded by coins and raised by steps.", Plan: p.Canonical(), Seed: 7, Circuit: p.Route.Sum.Circuit}
	sums := proto.NewTally().(*tally.Sums)
	for i, x := range [][]float64{{1, 0, 0, 0, 0, 0, 0, 0}, {0.5, -0.5, 0.5, -0.5, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}} {
		_, v, err := proto.Measure(seeded.New(g.Seed, uint64(i)), gradient.Along(x), nil)
		if err != nil {
			t.Fatal(err)
		}
		g.Gradient, g.Whole = append(g.Gradient, x), append(g.Whole, v)
		for k, n := range v {
			sums.N[k] += int64(n)
		}
	}
	if g.Mean, err = proto.Question.(*gradient.Question).Mean(tally.Crowd{Tally: sums, Respondents: 3}); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/proved.json"
	if *update {
		text, err := json.MarshalIndent(g, "", " ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !example.SameJSON(t, want.Plan, g.Plan) {
		t.Error("the plan is another")
	}
	want.Plan, g.Plan = nil, nil
	if diff := cmp.Diff(want, g, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-5 })); diff != "" {
		t.Errorf("(-golden +got)\n%s", diff)
	}
}
