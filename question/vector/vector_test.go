package vector_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// asking is a plan of vectors, complete but for what Design fills in.
func asking(features int, classes []string, rounds ...plan.VectorRound) plan.Plan {
	p := example.Density("rr")
	p.Title = "Which shapes go with which class?"
	p.Question = plan.Question{Kind: "vector", Unfit: plan.UnfitReference, Vector: &plan.Vector{
		Features: features, Classes: classes, Seed: example.Seed, Rounds: rounds,
	}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-5, Adjacency: "replacement", DishonestShare: 0.1}
	p.Crowd = plan.Crowd{Minimum: 2000}
	return p
}

// ready is a plan of one round whose numbers are written down.
func ready(features int, classes []string, r plan.VectorRound, rows int) *protocol.Protocol {
	r.Rows, r.Clip, r.Flip, r.Rare = rows, 2, 0.125, 1e-9
	p := asking(features, classes, r)
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = rows, 8
	proto, err := protocol.New(p)
	if err != nil {
		panic(err)
	}
	return proto
}

func shapes() []string { return []string{"round", "square", "tall"} }

// around are records of three classes around centres of their own, and as many to test with.
func around(r *rand.Rand, n, features int) (values distribution.Values, test results.Records) {
	centres := make([][]float32, 3)
	draw := func() []float32 {
		v := make([]float32, features)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		whiten.Normalize(v)
		return v
	}
	for k := range centres {
		centres[k] = draw()
	}
	record := func() vector.Record {
		k := r.IntN(3)
		x := draw()
		for i := range x {
			x[i] = 1.2*centres[k][i] + x[i]
		}
		return vector.Record{Features: x, Class: k}
	}
	for range n {
		values = append(values, record())
	}
	test.X.Cols, test.X.Stride = features, features
	for range 500 {
		x := record()
		test.X.Data, test.Y, test.X.Rows = append(test.X.Data, x.Features...), append(test.Y, x.Class), test.X.Rows+1
	}
	return values, test
}

func quiet(string, int, int) {}

// A plan keeps its promise by the accountant with little to spare, its mechanism sends a
// constant number of messages, and its statements are of a whole record.
func TestDesignKeepsThePromise(t *testing.T) {
	for name, p := range map[string]plan.Plan{
		"features":  asking(60, nil, plan.VectorRound{Sums: plan.SumsFeatures, Answered: 32}),
		"moments":   asking(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 64}),
		"every row": asking(12, shapes(), plan.VectorRound{Sums: plan.SumsClasses}),
	} {
		p = example.Design(t, p)
		proto := example.Runnable(t, p)
		promise := example.Promised(t, proto)
		if e := promise.Shuffled.Epsilon; e > 1 || e < 0.999 {
			t.Errorf("%s: epsilon %v of 1", name, e)
		}
		if r := p.Question.Vector.Rounds[0]; p.Envelopes.PerDevice < r.Answered || p.Envelopes.PerDevice > r.Rows || proto.Question.Risks().Overflow != 0 {
			t.Errorf("%s: %d envelopes for %d of %d rows", name, p.Envelopes.PerDevice, r.Answered, r.Rows)
		}
		if len(promise.Statements) != 3 || promise.Statements[2].Guarantee.Adjacency != account.Replacement {
			t.Errorf("%s: %+v", name, promise.Statements)
		}
		dishonest := p
		dishonest.Budget.DishonestShare = 0.2
		if err := protocol.Check(dishonest); err == nil {
			t.Errorf("%s: respondents who are not honest were relied upon", name)
		}
		p.Question.Vector.Rounds[0].Flip *= 0.98
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), "promise does not hold") {
			t.Errorf("%s: less noise was not noticed: %v", name, err)
		}
	}
}

// What a plan may not say, each with the reason.
func TestRefused(t *testing.T) {
	p := ready(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 64}, 128).Plan
	for want, edit := range map[string]func(p *plan.Plan){
		"removed answers no row": func(p *plan.Plan) { p.Budget.Adjacency = "removal" },
		"number of respondents is private": func(p *plan.Plan) {
			p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: 1, Threshold: 10}
		},
		"within the vector":     func(p *plan.Plan) { p.Budget.LabelEpsilon = 2 },
		"everyone colludes":     func(p *plan.Plan) { p.Budget.LocalEpsilon = 4 },
		"one crowd":             func(p *plan.Plan) { p.Crowd.Names = []string{"a", "b"} },
		"power of two":          func(p *plan.Plan) { p.Question.Vector.Rounds[0].Rows = 100 },
		"at least two, or none": func(p *plan.Plan) { p.Question.Vector.Classes = []string{"a"} },
		"classes belong to":     func(p *plan.Plan) { p.Question.Vector.Rounds[0].Sums = plan.SumsFeatures },
		"sums must be":          func(p *plan.Plan) { p.Question.Vector.Rounds[0].Sums = "variances" },
		"64 hex digits":         func(p *plan.Plan) { p.Question.Vector.Seed = "5a" },
		"describe between 1":    func(p *plan.Plan) { p.Question.Vector.Rounds = nil },
		"flip_probability":      func(p *plan.Plan) { p.Question.Vector.Rounds[0].Flip = 0.5 },
		"rows that a device":    func(p *plan.Plan) { p.Envelopes.PerDevice = 3 },
	} {
		bad := p
		v := *p.Question.Vector
		v.Rounds = slices.Clone(v.Rounds)
		bad.Question.Vector = &v
		edit(&bad)
		if _, err := protocol.New(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

// Every record gets an answer, and one that does not fit that of nobody.
func TestUnfit(t *testing.T) {
	moments := ready(3, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 8}, 32)
	sums := ready(3, nil, plan.VectorRound{Sums: plan.SumsFeatures, Answered: 2}, 4).Plan
	sums.Question.Unfit = plan.UnfitClip
	plain := example.Runnable(t, sums)
	for name, c := range map[string]struct {
		p    *protocol.Protocol
		r    vector.Record
		norm float64 // of the vector
	}{
		"length":    {moments, vector.Record{Features: []float32{1}, Class: 1}, 0},
		"class":     {moments, vector.Record{Features: []float32{1, 0, 0}, Class: 3}, 0},
		"nan":       {moments, vector.Record{Features: []float32{float32(math.NaN()), 0, 0}}, 0},
		"direction": {moments, vector.Record{Features: []float32{0, 0, 0}}, 0},
		"long":      {plain, vector.Record{Features: []float32{3, 4, 0}}, 1},
	} {
		symbol, err := c.p.Encode(c.r)
		if unfit, failed := question.Fits(err); unfit == nil || failed != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		squares := 0.0
		for _, x := range symbol.([]float32) {
			squares += float64(x) * float64(x)
		}
		if math.Abs(squares-c.norm) > 1e-6 || squares > 1 {
			t.Errorf("%s: a squared norm of %v", name, squares)
		}
	}
	if _, err := moments.Encode("a text"); err == nil || errorsIsUnfit(err) {
		t.Errorf("a value of another kind: %v", err)
	}
}

func errorsIsUnfit(err error) bool { unfit, _ := question.Fits(err); return unfit != nil }

// A round teaches a classifier, and its sums are as far off as stated.
func TestRoundTeaches(t *testing.T) {
	p := asking(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 12})
	p.Crowd.Minimum, p.Budget.Epsilon, p.Budget.DishonestShare = 2000, 2, 0
	values, test := around(stattest.Rand(t), 2000, 12)
	proto := example.Runnable(t, example.Design(t, p))
	truth, err := distribution.Reveal(proto, values)
	if err != nil {
		t.Fatal(err)
	}
	col, err := simulate.Law(proto, values, 3, quiet)
	if err != nil {
		t.Fatal(err)
	}
	model, err := proto.Learn(col.Crowds)
	if err != nil {
		t.Fatal(err)
	}
	headline, sections, err := results.Describe(model, results.Public{Test: test, Truth: truth})
	if err != nil {
		t.Fatal(err)
	}
	if headline[0].Name != "accuracy" || headline[0].Value < 0.6 {
		t.Errorf("%+v", headline[0])
	}
	if s := sections[0]; len(s.Metrics) != 1 || s.Metrics[0].Name != "calibration_error" || s.Metrics[0].Value > 0.25 || len(s.Tables) != 3 || len(s.Tables[0].Rows) != 3 {
		t.Errorf("%+v", s)
	}
	expected := proto.Question.(*vector.Question).Expected(2000)
	if m := model.(*vector.Model); math.Abs(m.Answers-expected.Mean) > 6*expected.StdErr {
		t.Errorf("%v rows answered, expected %+v", m.Answers, expected)
	}
	ratio := sections[1].Metrics[3]
	if ratio.Name != "error_ratio" || math.Abs(ratio.Value-1) > 0.3 { // of 117 coordinates
		t.Errorf("%+v", ratio)
	}
}

// A round's rows are drawn afresh, and by its own coins: what one device sends twice is not
// the same.
func TestFreshRows(t *testing.T) {
	proto := ready(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 64}, 128)
	symbol, err := proto.Encode(vector.Record{Features: []float32{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}})
	if err != nil {
		t.Fatal(err)
	}
	rows := func(seed uint64) (said []int) {
		report, err := proto.Randomize(seeded.New(seed), symbol, nil)
		if err != nil || len(report.Parts) != 1 {
			t.Fatal(err)
		}
		for _, body := range report.Parts[0] {
			row, _ := example.Said(t, body)
			said = append(said, row)
		}
		return said
	}
	if a, b := rows(1), rows(2); slices.Equal(a, b) || !slices.Equal(a, rows(1)) {
		t.Error("rows do not follow the device's own randomness")
	}
}

// A ledger counts a round by a Gaussian not much wider than its own, and five rounds by the sum
// of their squares; not by what epsilon and delta alone would allow.
func TestLedgersCountByShift(t *testing.T) {
	proto := example.Runnable(t, example.Design(t, asking(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 64})))
	one, err := proto.Spending(example.Promised(t, proto).Shuffled, account.Replacement)
	if err != nil {
		t.Fatal(err)
	}
	five, err := proto.Study(one, 5)
	if err != nil {
		t.Fatal(err)
	}
	known := account.DominateKnown(one.Epsilon, one.Delta, account.Replacement).Shift
	if s := one.Domination.Shift; s > known/3 || five.Domination.Shift > 2.4*s || five.Epsilon > 3*one.Epsilon {
		t.Errorf("one round %+v, five %+v, by epsilon alone a shift of %v", one, five, known)
	}
}

// The rounds of a study that respondents answer from end to end keep its epsilon together.
func TestStudyDividesTheBudget(t *testing.T) {
	p := asking(12, shapes(), plan.VectorRound{Sums: plan.SumsMoments, Answered: 64}, plan.VectorRound{Sums: plan.SumsGradients, Answered: 24})
	if _, err := vector.Study(p, []float64{0.4, 0.2, 0.4}, 1); err == nil {
		t.Error("rounds that are alike took other shares")
	}
	p, err := vector.Study(p, []float64{0.4, 0.3, 0.3}, 1)
	if err != nil {
		t.Fatal(err)
	}
	proto := example.Runnable(t, p)
	if g, err := proto.Rounds(3, p.Budget.Delta); err != nil || g.Epsilon > 1 || g.Epsilon < 0.99 {
		t.Errorf("%+v, %v", g, err)
	}
	if example.Promised(t, proto); p.Budget.Epsilon >= 1 || p.Budget.Epsilon < 0.5 {
		t.Errorf("a round costs %v", p.Budget.Epsilon)
	}
	// The second round of the study is another mechanism than the first.
	study := plan.Study{Version: plan.StudyVersion, Plan: p, Rounds: 3, Takes: plan.TakesAll, Withheld: plan.WithheldEnds}
	for number, want := range map[int]string{1: plan.SumsMoments, 2: plan.SumsGradients, 3: plan.SumsGradients} {
		round, err := study.Round(number, "", plan.Times{})
		if err != nil {
			t.Fatal(err)
		}
		length := map[string]int{plan.SumsMoments: 117, plan.SumsGradients: 36}[want]
		if got := example.Runnable(t, round).Question.(*vector.Question).Rows().Spec().Dimension; got != length {
			t.Errorf("round %d has vectors of %d numbers, want %d", number, got, length)
		}
	}
}
