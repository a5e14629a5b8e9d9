package histogram_test

import (
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// What any window of a year errs by at most, of both noises, at one epsilon for all: the constants of another program.
func TestAnyWindowOfAYear(t *testing.T) {
	for k, want := range map[int]float64{1: 88, 2: 157, 3: 223, 5: 345} {
		p := example.Windowed(t, 365, k, plan.NoiseAggregators)
		_, says, err := histogram.Choose(undesigned(p))
		if err != nil || !strings.Contains(says, "66795 windows of 365 rounds") {
			t.Fatal(says, err)
		}
		worst := histogram.WorstWindow(t, p)
		t.Logf("%d events: %.2f, %s", k, worst, says)
		if math.Round(worst) > want || worst < want-1 {
			t.Errorf("%d events: the worst window errs by %.2f, want %.0f", k, worst, want)
		}
		promise, err := example.Runnable(t, p).Promise()
		if err != nil || promise.Shuffled.Epsilon > 1 {
			t.Errorf("%+v, %v", promise.Shuffled, err)
		}
	}
}

// undesigned returns the plan before its noise was found.
func undesigned(p plan.Plan) plan.Plan {
	route, of := *p.Route.Sum, *p.Route.Sum.Correlated
	of.Bits = 0
	route.Correlated, route.Law, route.Sigma = &of, "", 0
	p.Route.Sum = &route
	return p
}

// Less noise, more events or days, and the promise of windows does not hold; and the noise of a counter, whose rows are not
// spread over cells, is too little for them.
func TestAPromiseOfWindowsIsRecomputed(t *testing.T) {
	for name, spoil := range map[string]func(*plan.Sum){
		"less noise": func(s *plan.Sum) { s.Sigma *= .999 },
		"two events": func(s *plan.Sum) { s.Correlated.Events = 2 },
		"more days":  func(s *plan.Sum) { s.Correlated.Rounds++; s.Circuit.Length++ },
		"more bits":  func(s *plan.Sum) { s.Sigma /= 4 }, // as of a bit less
		"half each":  func(s *plan.Sum) { s.Noise, s.Sigma = plan.NoiseShared, s.Sigma/2 },
		"a counter's": func(s *plan.Sum) {
			s.Sigma = math.Ldexp(example.Yearly(t, 20, 1, 2, plan.NoiseAggregators).Route.Sum.Sigma, s.Correlated.Bits)
		},
	} {
		p := example.Windowed(t, 20, 1, plan.NoiseAggregators)
		if err := protocol.Check(p); err != nil {
			t.Fatal(err)
		}
		route, with := *p.Route.Sum, *p.Route.Sum.Correlated
		route.Correlated = &with
		spoil(&route)
		p.Route.Sum = &route
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), "promise does not hold") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Plans of windows that are refused.
func TestPlansOfWindowsThatAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*plan.Plan){
		"at most 1000 rounds":                 func(p *plan.Plan) { p.Route.Sum.Correlated.Rounds = 1001 },
		"one number more than there are":      func(p *plan.Plan) { p.Route.Sum.Circuit.Length = 7 },
		"bits must be between 1 and 10":       func(p *plan.Plan) { p.Route.Sum.Correlated.Bits = 11 },
		"must be a set of one value":          func(p *plan.Plan) { p.Question.Histogram.Attributes[0].Values = []string{"a", "b"} },
		"weight 1":                            func(p *plan.Plan) { p.Route.Sum.Circuit.Weight = 2 },
		"count who did one thing: question.h": func(p *plan.Plan) { p.Question.Histogram.Attributes[0].Others = true },
	} {
		p := example.Windowed(t, 12, 2, plan.NoiseAggregators)
		route, of, ask := *p.Route.Sum, *p.Route.Sum.Correlated, *p.Question.Histogram
		ask.Attributes = append([]plan.Attribute(nil), ask.Attributes...)
		route.Correlated, p.Route.Sum, p.Question.Histogram = &of, &route, &ask
		spoil(&p)
		if err := protocol.Validate(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A vector names the round in which it happened last, and a round that does not follow that one says nothing.
func TestAVectorNamesTheLastRound(t *testing.T) {
	p := example.Windowed(t, 12, 3, plan.NoiseAggregators)
	p.Round = &plan.Round{Study: strings.Repeat("ab", 32), Number: 5}
	q := example.Runnable(t, p).Question.(*histogram.Question)
	for last, want := range map[int]int{0: 0, 1: 1, 4: 4, 5: -1, 9: -1} {
		v := make([]uint64, 13)
		v[0] = 1
		q.Follow(v, 0, last)
		for cell, x := range v {
			if (x != 0) != (cell == want) {
				t.Errorf("last in round %d: %v", last, v)
				break
			}
		}
	}
	nothing := make([]uint64, 13)
	if q.Follow(nothing, 0, 3); nothing[3] != 0 {
		t.Error("who says nothing names a round")
	}
	one, err := example.Runnable(t, p).Spending(account.Guarantee{Epsilon: 1, Delta: 1e-6, Adjacency: account.Replacement, Trust: account.Central, Users: 1, Rounds: 1}, account.Replacement)
	if err != nil || math.Abs(one.Domination.Shift-.2367) > 1e-3 {
		t.Errorf("a ledger is charged %+v, %v", one, err)
	}
}
