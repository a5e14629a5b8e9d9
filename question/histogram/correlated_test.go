package histogram_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/histogram"
)

// What a year errs by, at one question's price, and what all rounds cost together.
func TestAYearAtOneQuestionsPrice(t *testing.T) {
	for _, c := range []struct {
		noise         string
		rounds, k     int
		cells         int
		total, within float64 // the deviation of the running total on the last day, of both noises
	}{
		{plan.NoiseAggregators, 365, 1, 1, 22.4, .1}, {plan.NoiseShared, 365, 1, 1, 15.8, .1}, {plan.NoiseAggregators, 52, 1, 1, 17.1, .1},
		{plan.NoiseAggregators, 365, 1, 3, 24.9, .1}, {plan.NoiseAggregators, 8760, 1, 1, 31.0, .1}, {plan.NoiseShared, 8760, 1, 1, 21.9, .1},
		{plan.NoiseAggregators, 365, 2, 1, 29.5 * math.Sqrt2, .5}, {plan.NoiseAggregators, 365, 4, 1, 55.2 * math.Sqrt2, .5}, {plan.NoiseAggregators, 365, 8, 1, 103 * math.Sqrt2, 1},
		{plan.NoiseAggregators, 365, 8, 3, 119.9 * math.Sqrt2, 1},
	} {
		p := example.Yearly(t, c.rounds, c.k, c.cells, c.noise)
		p.Round = &plan.Round{Study: strings.Repeat("ab", 32), Number: c.rounds}
		proto := example.Runnable(t, p)
		told := make([]histogram.ToldDay, c.rounds-1)
		for i := range told {
			told[i] = histogram.ToldDay{Round: i + 1, Totals: make([]float64, c.cells)}
		}
		state, _ := json.Marshal(told)
		q, err := proto.Question.(question.Stateful).WithState(state)
		if err != nil {
			t.Fatal(err)
		}
		sums := tally.NewSums(c.cells)
		got := q.(question.Estimated).Estimate(tally.Crowd{Tally: sums, Respondents: 1000, Smallest: 1000})[0].StdErr
		if math.Abs(got-c.total) > c.within {
			t.Errorf("%s, %d rounds, %d events, %d cells: %.2f, want %.2f", c.noise, c.rounds, c.k, c.cells, got, c.total)
		}
		promise, err := proto.Promise()
		if err != nil {
			t.Fatal(err)
		}
		if c.rounds > 400 {
			continue
		}
		all, err := proto.Rounds(c.rounds, p.Budget.Delta)
		if err != nil || all.Epsilon > 1 || all.Epsilon != promise.Shuffled.Epsilon {
			t.Errorf("all rounds: %+v, %v; the promise %+v", all, err, promise.Shuffled)
		}
		one, err := proto.Spending(promise.Shuffled, account.Replacement)
		if err != nil {
			t.Fatal(err)
		}
		if study, err := proto.Study(one, c.rounds); err != nil || study != one || math.Abs(one.Domination.Shift-.2367) > 1e-3 {
			t.Errorf("a ledger is charged %+v for the study and %+v for a round, %v", study, one, err)
		}
	}
}

// Less noise than the design's, or more events, and the promise does not hold.
func TestACorrelatedPromiseIsRecomputed(t *testing.T) {
	for name, spoil := range map[string]func(*plan.Sum){
		"less noise": func(s *plan.Sum) { s.Sigma *= .999 },
		"two events": func(s *plan.Sum) { s.Correlated.Events = 2 },
		"more days":  func(s *plan.Sum) { s.Correlated.Rounds *= 2 },
		"more bits":  func(s *plan.Sum) { s.Correlated.Bits++ },
		"half each":  func(s *plan.Sum) { s.Noise, s.Sigma = plan.NoiseShared, s.Sigma/2 },
	} {
		p := example.Yearly(t, 52, 1, 1, plan.NoiseAggregators)
		if err := protocol.Check(p); err != nil {
			t.Fatal(err)
		}
		route := *p.Route.Sum
		with := *route.Correlated
		route.Correlated = &with
		spoil(&route)
		p.Route.Sum = &route
		if err := protocol.Check(p); err == nil || !strings.Contains(err.Error(), "promise does not hold") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatesOfCorrelatedRoundsThatAreRefused(t *testing.T) {
	p := example.Yearly(t, 52, 1, 1, plan.NoiseAggregators)
	p.Round = &plan.Round{Study: strings.Repeat("ab", 32), Number: 3}
	q := example.Runnable(t, p).Question.(question.Stateful)
	if _, err := q.WithState([]byte(`[{"round":1,"totals":[2]},{"round":2,"totals":[2.5]}]`)); err != nil {
		t.Error(err)
	}
	for name, state := range map[string]string{
		"another form":   `[{"round":1, "totals":[2]}]`,
		"this round":     `[{"round":3,"totals":[2]}]`,
		"not rising":     `[{"round":2,"totals":[2]},{"round":1,"totals":[2]}]`,
		"more cells":     `[{"round":1,"totals":[2,3]}]`,
		"no totals":      `[{"round":1,"totals":null}]`,
		"not a list":     `{}`,
		"without number": `[{"round":0,"totals":[2]}]`,
		"beyond any sum": `[{"round":1,"totals":[1.1e+30]}]`,
		"below any sum":  `[{"round":1,"totals":[-1.1e+30]}]`,
	} {
		if _, err := q.WithState([]byte(state)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	// The farthest that are taken leave a model whose own state is told: it has no infinity and nothing that is no number.
	far, err := q.WithState([]byte(`[{"round":1,"totals":[1e+30]},{"round":2,"totals":[-1e+30]}]`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := far.Learn([]tally.Crowd{{Tally: tally.NewSums(1), Respondents: 1e5, Smallest: 1e5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := far.(*histogram.Question).Next(m); err != nil {
		t.Error(err)
	}
	alone := example.Design(t, example.Histogram(example.OneHot(example.Drinks())))
	_, err = example.Runnable(t, alone).Question.(question.Stateful).WithState([]byte("[]"))
	example.Mentions(t, err, "takes no state")
}
