package vector_test

import (
	"crypto/rand"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/sum/vdaf"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/prio3"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// provedOf returns a plan of sums of classes whose vectors have a proved length.
func provedOf(t *testing.T, features int, classes []string, people int, noise string) *protocol.Protocol {
	t.Helper()
	p := example.Summed(asking(features, classes, plan.VectorRound{Sums: plan.SumsClasses}), noise)
	p.Crowd.Minimum = people
	return example.Runnable(t, example.Design(t, p))
}

// Devices split and prove, both aggregators verify and add noise, and the analyzer reads the sum, as it does where sums are
// drawn by their law. The promise is that of the plan.
func TestProvedVectorsGoTheWholeWay(t *testing.T) {
	r := stattest.Rand(t)
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		p := example.Summed(asking(6, shapes(), plan.VectorRound{Sums: plan.SumsClasses}), noise)
		p.Crowd.Minimum, p.Budget.Epsilon = 300, 6
		keys, err := simulate.NewKeys(&p)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = design.Fill(p); err != nil {
			t.Fatal(err)
		}
		proto := example.Runnable(t, p)
		promise, err := proto.Promise()
		if err != nil || promise.Shuffled.Epsilon > 6*(1+1e-9) || promise.Shuffled.Epsilon < 5.9 {
			t.Fatalf("%v, %v", promise.Shuffled, err)
		}
		if s := promise.Statements; len(s) != 3 || s[0].Observer != account.BothAggregators || !math.IsInf(s[0].Guarantee.Epsilon, 1) {
			t.Errorf("%v", s)
		}
		values, test := around(r, 400, 6)
		values[0] = vector.Record{Features: make([]float32, 6)} // has no direction
		truth, err := distribution.Reveal(proto, values)
		if err != nil {
			t.Fatal(err)
		}
		full, err := simulate.Full(proto, keys, values, 1, quiet)
		if err != nil && full.Crowds == nil {
			t.Fatal(err)
		}
		drawn, err := simulate.Law(proto, values, 1, quiet)
		if err != nil && drawn.Crowds == nil {
			t.Fatal(err)
		}
		for name, crowds := range map[string][]tally.Crowd{"devices": full.Crowds, "law": drawn.Crowds} {
			learned, err := proto.Learn(crowds)
			if err != nil {
				t.Fatal(err)
			}
			m := learned.(*vector.Model)
			if m.Respondents != 400 || m.Answers != 0 || len(m.Sum) != len(truth.Sum) {
				t.Fatalf("%s, %s: %+v", noise, name, m)
			}
			for i, x := range m.Sum {
				if math.Abs(x-truth.Sum[i]) > 6*m.Error {
					t.Errorf("%s, %s: number %d is %v, want %v within %v", noise, name, i, x, truth.Sum[i], m.Error)
				}
			}
			if headline, _, err := results.Describe(m, results.Public{Test: test}); err != nil || headline[0].Value < 0.4 {
				t.Errorf("%s, %s: %+v, %v", noise, name, headline, err)
			}
		}
	}
}

// A device cannot split a vector that is one unit too long; the twin, whose circuit proves ranges alone, splits it.
func TestALongerVectorIsNotSplit(t *testing.T) {
	proto := provedOf(t, 20, shapes(), 2000, plan.NoiseAggregators)
	c := proto.Plan.Route.Sum.Circuit
	if c.Kind != plan.CircuitSumVec || c.Square == 0 || c.Length != 64 {
		t.Fatalf("%+v", c)
	}
	middle := uint64(c.Max / 2)
	full := make([]uint64, c.Length)
	rest := c.Square
	for i := range full {
		d := min(int(math.Sqrt(float64(rest))), c.Max/2)
		full[i], rest = middle+uint64(d), rest-d*d
	}
	if rest != 0 {
		t.Fatalf("squares of %d are left", rest)
	}
	split := func(s plan.Sum, v []uint64) error {
		made, err := vdaf.New(&s, []byte("a test"))
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = made.Split(rand.Reader, [prio3.NonceSize]byte{}, v)
		return err
	}
	if err := split(*proto.Plan.Route.Sum, full); err != nil {
		t.Errorf("the longest vector: %v", err)
	}
	long := slices.Clone(full)
	if long[len(long)-1] != middle {
		t.Fatal("no number is in the middle")
	}
	long[len(long)-1]++
	if split(*proto.Plan.Route.Sum, long) == nil {
		t.Error("a vector one unit too long was split")
	}
	twin := *proto.Plan.Route.Sum
	twin.Circuit.Square = 0
	if err := split(twin, long); err != nil {
		t.Errorf("the twin refuses it: %v", err)
	}
}

// Whatever two records hold, what they split is no further apart than is charged, and is as long in bytes. Some come near.
func TestProvedVectorsAreMovedAsCharged(t *testing.T) {
	r := stattest.Rand(t)
	proto := provedOf(t, 3, shapes(), 2000, plan.NoiseAggregators)
	c := proto.Plan.Route.Sum.Circuit
	held := []vector.Record{
		{Features: []float32{1, 0, 0}}, {Features: []float32{-1, 0, 0}}, {Features: []float32{0, 0, 0}}, {Features: []float32{1e30, 1, 1}, Class: 2},
		{Features: []float32{float32(math.NaN()), 0, 0}}, {Features: []float32{1, 2, 3}, Class: 7}, {Features: []float32{-1, -1, 1}, Class: 1}, {Features: nil},
	}
	var all [][]uint64
	for _, h := range held {
		for range 20 {
			s, _ := proto.Encode(h)
			_, v, err := proto.Measure(r, s, nil)
			if err != nil || len(v) != c.Length {
				t.Fatalf("%v, %v", v, err)
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
	if farthest > 4*c.Square || farthest < 3*c.Square {
		t.Errorf("records are %d apart, and %d are charged", farthest, 4*c.Square)
	}
}

// A plan with another bound than its question's, with rows, or without steps is refused.
func TestProvedPlansAreChecked(t *testing.T) {
	good := provedOf(t, 20, shapes(), 2000, plan.NoiseAggregators).Plan
	for name, edit := range map[string]func(p *plan.Plan, r *plan.VectorRound){
		"circuit":  func(p *plan.Plan, _ *plan.VectorRound) { p.Route.Sum.Circuit.Square++ },
		"answered": func(_ *plan.Plan, r *plan.VectorRound) { r.Answered = 4 },
		"steps":    func(_ *plan.Plan, r *plan.VectorRound) { r.Steps = 16 },
		"noise":    func(p *plan.Plan, _ *plan.VectorRound) { p.Route.Sum.Sigma *= 0.9 },
	} {
		p := good
		route, v := *p.Route.Sum, *p.Question.Vector
		v.Rounds = slices.Clone(v.Rounds)
		p.Route.Sum, p.Question.Vector = &route, &v
		edit(&p, &v.Rounds[0])
		proto, err := protocol.New(p)
		if err == nil {
			_, err = proto.Promise()
		}
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	mixed := example.Design(t, asking(20, shapes(), plan.VectorRound{Sums: plan.SumsClasses, Answered: 16}))
	mixed.Question.Vector.Rounds[0].Steps = 15
	if _, err := protocol.New(mixed); err == nil || !strings.Contains(err.Error(), "steps") {
		t.Errorf("steps of bits: %v", err)
	}
}

// besideLiars returns the accuracy of what honest respondents and so many liars are summed to, of whom each splits the
// longest vector that its proof allows: against the sum of the others, or from each class's sum to the next one's, the
// worse of the two.
func besideLiars(t *testing.T, proto *protocol.Protocol, held distribution.Values, lying int, learn func(*protocol.Protocol, tally.Crowd) float64) float64 {
	t.Helper()
	fewer := proto.Plan
	crowds, err := distribution.Draw(proto, held, func(part ...uint64) *mathrand.Rand { return seeded.New(1, part...) }, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if lying == 0 {
		return learn(proto, crowds[0])
	}
	fewer.Crowd.Minimum = len(held) - lying
	honest := example.Runnable(t, fewer)
	if crowds, err = distribution.Draw(honest, held[lying:], func(part ...uint64) *mathrand.Rand { return seeded.New(1, part...) }, func(int) {}); err != nil {
		t.Fatal(err)
	}
	truth, err := distribution.Reveal(proto, held[lying:])
	if err != nil {
		t.Fatal(err)
	}
	made, err := vdaf.New(proto.Plan.Route.Sum, nil)
	if err != nil {
		t.Fatal(err)
	}
	honestly, worst := slices.Clone(crowds[0].Tally.(*tally.Sums).N), 1.0
	features := proto.Plan.Question.Vector.Features
	for _, toward := range []func(at int) float64{
		func(at int) float64 { return -truth.Sum[at] },
		func(at int) float64 { return truth.Sum[(at+features)%len(truth.Sum)] - truth.Sum[at] },
	} {
		against, norm := make([]float32, len(truth.Sum)), 0.0
		for k := range against {
			norm += toward(k) * toward(k)
		}
		for k := range against {
			against[k] = float32(toward(k) / math.Sqrt(norm) * (1 - 1e-6))
		}
		_, whole, err := proto.Measure(seeded.New(2), against, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole = distribution.Longest(proto.Plan.Route.Sum.Circuit, whole)
		if _, _, _, err := made.Split(rand.Reader, [prio3.NonceSize]byte{}, whole); err != nil {
			t.Fatal(err)
		}
		sums := slices.Clone(honestly)
		for i, x := range whole {
			sums[i] += int64(lying) * int64(x)
		}
		crowds[0].Tally, crowds[0].Respondents = &tally.Sums{N: sums}, len(held)
		worst = min(worst, learn(proto, crowds[0]))
	}
	return worst
}

// Rounds of a study that differ are as long as the longest of them, keep the budget together, and each says the sum of its own
// vectors: gradients after moments, drawn by the code that devices split with.
func TestProvedRoundsThatDiffer(t *testing.T) {
	p := example.Summed(asking(6, shapes(), plan.VectorRound{Sums: plan.SumsMoments}, plan.VectorRound{Sums: plan.SumsGradients}), plan.NoiseAggregators)
	p.Crowd.Minimum = 500
	p, err := design.Rounds(p, 3)
	if err != nil {
		t.Fatal(err)
	}
	proto := example.Runnable(t, p)
	if g, err := proto.Rounds(3, p.Budget.Delta); err != nil || g.Epsilon > 1 || g.Epsilon < 0.999 {
		t.Errorf("three rounds cost %v: %v", g, err)
	}
	study := plan.Study{Version: plan.StudyVersion, Plan: p, Rounds: 3, Takes: plan.TakesAll}
	values, _ := around(stattest.Rand(t), 500, 6)
	var state []byte
	for round := 1; round <= 3; round++ {
		name := ""
		if state != nil {
			name = plan.StateName(state)
		}
		one, err := study.Round(round, name, plan.Times{})
		if err != nil {
			t.Fatal(err)
		}
		if proto, err = protocol.New(one); state != nil {
			proto, err = protocol.WithState(one, state)
		}
		if err != nil {
			t.Fatal(err)
		}
		if c := proto.Plan.Route.Sum.Circuit; c.Length != 64 || c.Square == 0 {
			t.Fatalf("round %d: %+v", round, c)
		}
		truth, err := distribution.Reveal(proto, values)
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := simulate.Law(proto, distribution.Values(values), uint64(round), quiet)
		if err != nil && drawn.Crowds == nil {
			t.Fatal(err)
		}
		learned, err := proto.Learn(drawn.Crowds)
		if err != nil {
			t.Fatal(err)
		}
		m := learned.(*vector.Model)
		if want := map[bool]string{true: plan.SumsMoments, false: plan.SumsGradients}[round == 1]; m.Sums != want || len(m.Sum) != len(truth.Sum) {
			t.Fatalf("round %d has %d sums of %s", round, len(m.Sum), m.Sums)
		}
		for i, x := range m.Sum {
			if math.Abs(x-truth.Sum[i]) > 6*m.Error {
				t.Errorf("round %d: number %d is %v, want %v within %v", round, i, x, truth.Sum[i], m.Error)
			}
		}
		if state, _, err = results.Next(proto.Question, learned); err != nil {
			t.Fatal(err)
		}
	}
	other := p
	v := *p.Question.Vector
	v.Rounds = slices.Clone(v.Rounds)
	v.Rounds[1].Steps = 2*v.Rounds[1].Steps + 1
	other.Question.Vector = &v
	example.Mentions(t, protocol.Check(other), "rounds[1].steps: all rounds have the same")
}
