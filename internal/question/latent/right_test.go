package latent

import (
	"math"
	"testing"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/rng"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
)

// judged asks whether the model of three classes, each about a corner, is right.
func judged() plan.Latent {
	return plan.Latent{Features: 2, Classes: []string{"a", "b", "c"}, Report: plan.LatentRight, Clusters: 3}
}

// The law of an answer over both of them: no two records, those that do not fit included, are told apart by more than
// the local epsilon, and some are by as much; a twin that says the truth more often is beyond it.
func TestRightByEnumeration(t *testing.T) {
	const epsilon = 0.8
	q := made(t, asked(judged(), epsilon))
	z := q.InnerPlan().Question.Histogram.Randomizer
	if z.Name != subset || z.Subset != 1 || math.Abs(z.Epsilon-epsilon) > 1e-9 {
		t.Fatalf("randomizer %+v", z)
	}
	yes := func(r Record, epsilon float64) float64 {
		v, err := q.InnerValue(r)
		if err != nil {
			t.Fatal(err)
		}
		switch v.Values[0].(int) {
		case 1:
			return math.Exp(epsilon) / (1 + math.Exp(epsilon))
		case 0:
			return 1 / (1 + math.Exp(epsilon))
		}
		return 0.5 // drawn at random
	}
	worst := func(epsilon float64) (most float64) {
		for _, a := range records {
			for _, b := range records {
				p, o := yes(a, epsilon), yes(b, epsilon)
				most = max(most, math.Log(p/o), math.Log((1-p)/(1-o)))
			}
		}
		return most
	}
	if got := worst(epsilon); math.Abs(got-epsilon) > 1e-9 {
		t.Errorf("records tell %v, and %v is promised", got, epsilon)
	}
	if worst(1.1*epsilon) <= epsilon+0.01 {
		t.Error("a twin that says the truth more often keeps the promise")
	}
	for _, r := range records { // devices draw from that law
		counts := said(t, q, r, 5000)[:4]
		law := []float64{0, 1 - yes(r, epsilon), yes(r, epsilon), 0}
		stattest.GTest(t, law, counts)
		stattest.Caught(t, func(tb testing.TB) {
			stattest.GTest(tb, []float64{0, 1 - yes(records[0], 5*epsilon), yes(records[0], 5*epsilon), 0}, counts)
		})
	}
	g, err := account.Epsilon(q.Event(450, false), 1e-6)
	if err != nil || g.Epsilon > 0.5 {
		t.Errorf("%+v, %v", g, err)
	}
}

// The accuracy of a model comes back from what devices say, inside its interval; with labels of others it does not.
func TestHowOftenAModelIsRight(t *testing.T) {
	const respondents, share = 4000, 0.7
	q, r := made(t, asked(judged(), 2)), rng.New()
	accuracy := func(of func(i int) Record) (mean, low, high float64) {
		counts := q.NewTally()
		for i := range respondents {
			symbol, err := q.Encode(of(i))
			if err != nil {
				t.Fatal(err)
			}
			report, err := q.Randomize(r, symbol, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range report.Parts {
				for _, message := range part {
					if err := counts.Add(message); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		m, err := q.Learn([]tally.Crowd{{Tally: counts, Respondents: respondents, Smallest: respondents}})
		if err != nil {
			t.Fatal(err)
		}
		v, low, high, ok := m.(*Model).Right(m.(*Model).Counts.Tables[0], 1e-6)
		if !ok || v.StdErr < 0.005 || v.StdErr > 0.02 {
			t.Fatalf("%+v, %v", v, ok)
		}
		return v.Mean, low, high
	}
	right := Record{Features: []float32{1, 1}}
	symbol, err := q.InnerValue(right)
	if err != nil {
		t.Fatal(err)
	}
	if symbol.Values[0].(int) != 1 { // the class of that corner
		for right.Class = range 3 {
			if symbol, _ = q.InnerValue(right); symbol.Values[0].(int) == 1 {
				break
			}
		}
	}
	wrong := right
	wrong.Class = (right.Class + 1) % 3
	mean, low, high := accuracy(func(i int) Record {
		if i < share*respondents {
			return right
		}
		return wrong
	})
	if !(low < share && share < high && low < mean && mean < high) || high-low > 0.2 {
		t.Errorf("accuracy %v, between %v and %v", mean, low, high)
	}
	if _, _, high := accuracy(func(int) Record { return wrong }); high > 0.2 {
		t.Errorf("a model that is always wrong is right up to %v", high)
	}
}

// A model of other classes than the plan's is refused.
func TestModelsOfOtherClasses(t *testing.T) {
	for name, change := range map[string]func(*plan.Latent){
		"no classes":     func(l *plan.Latent) { l.Classes = nil },
		"other clusters": func(l *plan.Latent) { l.Clusters = 4 },
	} {
		l := judged()
		change(&l)
		if _, err := Design(asked(l, 1)); err == nil {
			t.Errorf("%s: designed", name)
		}
	}
}
