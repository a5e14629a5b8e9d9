package gradient_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
)

// first is the question of a first round.
func first(t testing.TB, p plan.Plan) (*protocol.Protocol, []byte) {
	t.Helper()
	state, done, err := results.Next(example.Runnable(t, p).Question, nil)
	if err != nil || done {
		t.Fatalf("no first state: %v, done: %v", err, done)
	}
	return stated(t, p, state), state
}

func stated(t testing.TB, p plan.Plan, state []byte) *protocol.Protocol {
	t.Helper()
	p.State = plan.StateName(state)
	proto, err := protocol.WithState(p, state)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// drinkers lie about the ends of a line, by their class.
func drinkers(r *rand.Rand, n int) []question.Value {
	values := make([]question.Value, n)
	for i := range values {
		l := gradient.Labelled{Class: i % 2, Features: []float32{1, -1, 0.5}}
		for j := range l.Features {
			l.Features[j] = l.Features[j]*float32(2*l.Class-1) + float32(0.3*r.NormFloat64())
		}
		values[i] = l
	}
	return values
}

// wide are the values with more numbers, which repeat themselves.
func wide(values []question.Value, dimension int) []question.Value {
	for i, v := range values {
		l := v.(gradient.Labelled)
		for len(l.Features) < dimension {
			l.Features = append(l.Features, l.Features[len(l.Features)-3]*0.9)
		}
		values[i] = l
	}
	return values
}

// mean is that of the devices' own gradients.
func mean(t *testing.T, proto *protocol.Protocol, values []question.Value) []float64 {
	t.Helper()
	var sum []float64
	for _, v := range values {
		g, err := proto.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range gradient.Told(g) {
			if sum == nil {
				sum = make([]float64, len(gradient.Told(g)))
			}
			sum[i] += x / float64(len(values))
		}
	}
	return sum
}

// What devices say leads the model where the mean of their gradients does, whatever the
// report.
func TestAStepIsThatOfTheMeanGradient(t *testing.T) {
	for _, report := range plan.GradientReports {
		t.Run(report, func(t *testing.T) {
			p := example.Gradient(report)
			if report != gradient.Vector {
				p.Budget.LocalEpsilon = 4
			}
			p.Question.Gradient.Dimension = 63
			proto, before := first(t, example.Design(t, p))
			values := wide(drinkers(stattest.Rand(t), 4000), 63)
			crowds, err := distribution.Draw(proto, distribution.Values(values), example.Streams(3), func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			m, err := proto.Learn(crowds)
			if err != nil {
				t.Fatal(err)
			}
			model := m.(*gradient.Model)
			var start gradient.State
			if err := start.UnmarshalBinary(before); err != nil {
				t.Fatal(err)
			}
			want, noise := mean(t, proto, values), model.State.Turns[0].Noise
			if noise <= 0 || noise > 0.1 || model.State.Turns[0].Respondents != 4000 {
				t.Errorf("the round gave %+v", model.State.Turns[0])
			}
			for i, g := range want {
				// Coordinates of a vector are clipped besides.
				if step := float64(start.Model.Params[i] - model.State.Model.Params[i]); math.Abs(step-g) > 5*noise+0.1*math.Abs(g) {
					t.Errorf("number %d moved by %v, and the mean gradient there is %v, with an error of %v", i, -step, g, noise)
				}
			}
		})
	}
}

// A study learns, and its rounds go on from bytes alone.
func TestRoundsLearn(t *testing.T) {
	p := example.Gradient(gradient.Direction)
	p.Budget.LocalEpsilon, p.Question.Gradient.Step.Momentum, p.Question.Gradient.Step.Average = 2, 0.5, 0.5
	p = example.Design(t, p)
	proto, _ := first(t, p)
	values := drinkers(stattest.Rand(t), 1500)
	var model *gradient.Model
	for round := range 5 {
		crowds, err := distribution.Draw(proto, distribution.Values(values), example.Streams(uint64(round)), func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		m, err := proto.Learn(crowds)
		if err != nil {
			t.Fatal(err)
		}
		model = m.(*gradient.Model)
		state, done, err := results.Next(proto.Question, m)
		if err != nil || done {
			t.Fatalf("round %d: done %v, %v", round+1, done, err)
		}
		proto = stated(t, p, state)
	}
	right := 0
	classes := nn.Classify(model.Network(), func(i int) []float32 { return values[i].(gradient.Labelled).Features }, len(values))
	for i, v := range values {
		if v.(gradient.Labelled).Class == classes[i] {
			right++
		}
	}
	if len(model.State.Turns) != 5 || right < 1400 {
		t.Errorf("after %d rounds %d of %d are right", len(model.State.Turns), right, len(values))
	}
}

// A value that does not fit is answered as any other: by a report that adds nothing.
func TestWhatDoesNotFitSaysNothing(t *testing.T) {
	p := example.Gradient(gradient.Direction)
	p.Budget.LocalEpsilon = 3
	proto, _ := first(t, example.Design(t, p))
	for name, v := range map[string]gradient.Labelled{
		"no class":    {Features: []float32{1, 2, 3}, Class: -1},
		"beyond":      {Features: []float32{1, 2, 3}, Class: 2},
		"short":       {Features: []float32{1, 2}},
		"none":        {},
		"nan":         {Features: []float32{1, float32(math.NaN()), 3}},
		"infinite":    {Features: []float32{1, float32(math.Inf(-1)), 3}},
		"overflowing": {Features: []float32{math.MaxFloat32, math.MaxFloat32, math.MaxFloat32}},
	} {
		s, err := proto.Encode(v)
		unfit, failed := question.Fits(err)
		if failed != nil || (unfit == nil) != (name == "overflowing") {
			t.Fatalf("%s: %v", name, err)
		}
		for _, g := range gradient.Told(s) {
			if g != 0 && name != "overflowing" || g-g != 0 {
				t.Fatalf("%s has the gradient %v", name, gradient.Told(s))
			}
		}
		report, err := proto.Randomize(stattest.Rand(t), s, nil)
		if err != nil || len(report.Parts) != 1 || len(report.Parts[0]) != 1 || len(report.Parts[0][0]) != 17 {
			t.Fatalf("%s: %v, %v", name, report, err)
		}
	}
	if _, err := proto.Encode("tea"); err == nil {
		t.Error("a text was encoded")
	}
}

// Without its state a question promises what it does with it, and answers nothing.
func TestAQuestionWithoutItsModelAnswersNothing(t *testing.T) {
	p := example.Gradient(gradient.Cap)
	p.Budget.LocalEpsilon = 2
	p = example.Design(t, p)
	bare := example.Runnable(t, p)
	with, state := first(t, p)
	if _, err := bare.Encode(drinkers(stattest.Rand(t), 1)[0]); err == nil {
		t.Error("encoded without a model")
	}
	if _, err := bare.Learn([]tally.Crowd{{Tally: bare.NewTally(), Respondents: 1}}); err == nil {
		t.Error("learned without a model")
	}
	a, b := example.Promised(t, bare), example.Promised(t, with)
	if a.Shuffled.Epsilon != b.Shuffled.Epsilon {
		t.Errorf("epsilon %v without a model, %v with it", a.Shuffled.Epsilon, b.Shuffled.Epsilon)
	}
	other := p
	other.Question.Gradient = new(plan.Gradient)
	*other.Question.Gradient = *p.Question.Gradient
	other.Question.Gradient.Dimension = 4
	other.State = plan.StateName(state)
	if _, err := protocol.WithState(other, state); err == nil {
		t.Error("a model of three numbers was taken for examples of four")
	}
	p.State = plan.StateName([]byte("another"))
	if _, err := protocol.WithState(p, state); err == nil {
		t.Error("another state than the plan's was taken")
	}
}

// A design of several rounds keeps its budget in all of them together and wastes little.
func TestRoundsKeepTheirBudgetTogether(t *testing.T) {
	for _, report := range plan.GradientReports {
		p := example.Gradient(report)
		p.Crowd.Minimum = 5000
		designed, err := gradient.DesignRounds(p, 6)
		if err != nil {
			t.Fatal(err)
		}
		proto := example.Runnable(t, designed)
		if p.Question.Gradient.Report.Epsilon != 0 || p.Question.Gradient.Report.Flip != 0 {
			t.Error("the caller's plan was changed")
		}
		all, err := proto.Rounds(6, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		if one := example.Promised(t, proto).Shuffled; all.Epsilon > 1 || all.Epsilon < 0.97 || one.Epsilon >= all.Epsilon || all.Users != 4500 {
			t.Errorf("%s: %v in a round, %v in six", report, one, all)
		}
	}
	p := example.Gradient(gradient.Direction)
	p.Budget.LocalEpsilon = 6
	p.Budget.Epsilon = 0
	designed, err := gradient.DesignRounds(p, 3)
	if err != nil || designed.Question.Gradient.Report.Epsilon != 2 || designed.Budget.LocalEpsilon != 2 {
		t.Errorf("a local epsilon of 6 in three rounds is %+v: %v", designed.Question.Gradient.Report, err)
	}
	g := example.Promised(t, example.Runnable(t, designed)).Statements[0].Guarantee
	if g.Epsilon != 2 || g.Delta != 0 || g.Trust != account.Local {
		t.Errorf("a round promises %v", g)
	}
	p.Budget.LocalEpsilon = 0
	if _, err := gradient.DesignRounds(p, 3); err == nil {
		t.Error("a design for no promise")
	}
}

// Among many more than the plan counts on nobody is promised less: not all are relied upon, each of whom is charged
// for its envelopes.
func TestManyMoreAreNotChargedFor(t *testing.T) {
	p := example.Gradient(gradient.Vector)
	p.Crowd.Minimum, p.Question.Gradient.Dimension, p.Question.Gradient.Report.Bits = 5000, 60, 16
	proto := example.Runnable(t, example.Design(t, p))
	many, err := proto.GuaranteeWith(20_000 * p.Crowd.Minimum)
	if one := example.Promised(t, proto).Shuffled; err != nil || many.Epsilon > one.Epsilon {
		t.Errorf("%v among many, promised %v: %v", many, one, err)
	}
}

func TestBadPlansAreNamed(t *testing.T) {
	for what, spoil := range map[string]func(p *plan.Plan, g *plan.Gradient){
		"dimension":        func(_ *plan.Plan, g *plan.Gradient) { g.Dimension = 0 },
		"classes":          func(_ *plan.Plan, g *plan.Gradient) { g.Classes = g.Classes[:1] },
		"seed":             func(_ *plan.Plan, g *plan.Gradient) { g.Seed = "5" },
		"clip":             func(_ *plan.Plan, g *plan.Gradient) { g.Clip = math.Inf(1) },
		"model":            func(_ *plan.Plan, g *plan.Gradient) { g.Model = "xv" },
		"xiii":             func(_ *plan.Plan, g *plan.Gradient) { g.Model = "xiii" },
		"report.name":      func(_ *plan.Plan, g *plan.Gradient) { g.Report.Name = "sum" },
		"report.epsilon":   func(_ *plan.Plan, g *plan.Gradient) { g.Report.Epsilon = 51 },
		"report.share":     func(_ *plan.Plan, g *plan.Gradient) { g.Report.Share = 0.2 },
		"report.rare":      func(_ *plan.Plan, g *plan.Gradient) { g.Report.Rare = 0.2 },
		"rate":             func(_ *plan.Plan, g *plan.Gradient) { g.Step.Rate = 0 },
		"momentum":         func(_ *plan.Plan, g *plan.Gradient) { g.Step.Momentum = 1 },
		"average":          func(_ *plan.Plan, g *plan.Gradient) { g.Step.Average = math.NaN() },
		"bound":            func(_ *plan.Plan, g *plan.Gradient) { g.Step.Bound = 0 },
		"crowd.names":      func(p *plan.Plan, _ *plan.Gradient) { p.Crowd.Names = []string{"a", "b"} },
		"budget.adjacency": func(p *plan.Plan, _ *plan.Gradient) { p.Budget.Adjacency = "removal" },
		"label_epsilon":    func(p *plan.Plan, _ *plan.Gradient) { p.Budget.LabelEpsilon = 1 },
		"crowd.deletion": func(p *plan.Plan, _ *plan.Gradient) {
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: 1, Threshold: 9}
		},
		"unfit":         func(p *plan.Plan, _ *plan.Gradient) { p.Question.Unfit = "" },
		"payload_bytes": func(p *plan.Plan, _ *plan.Gradient) { p.Envelopes.PayloadBytes = 17 },
		"promise":       func(_ *plan.Plan, g *plan.Gradient) { g.Report.Epsilon = 9 },
	} {
		p := example.Gradient(gradient.Direction)
		p = example.Design(t, p)
		spoil(&p, p.Question.Gradient)
		example.Mentions(t, protocol.Check(p), what)
	}
	p := example.Design(t, example.Gradient(gradient.Direction))
	if err := protocol.Check(p); err != nil {
		t.Errorf("a good plan: %v", err)
	}
	if err := protocol.Check(example.Design(t, example.Gradient(gradient.Vector))); err != nil {
		t.Errorf("a good plan of vectors: %v", err)
	}
	if _, err := design.Fill(plan.Plan{Question: plan.Question{Kind: "gradient", Gradient: &plan.Gradient{Model: "xv"}}}); err == nil {
		t.Error("a design of no model")
	}
}
