package audit

import (
	"testing"

	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
)

// sumOfVectors is a plan of the sum of vectors of so many features.
func sumOfVectors(t testing.TB, features, minimum int, epsilon float64) plan.Plan {
	p := example.Density("rr")
	p.Question = plan.Question{Kind: "vector", Unfit: "reference", Vector: &plan.Vector{
		Features: features, Seed: example.Seed, Rounds: []plan.VectorRound{{Sums: "features", Answered: features}},
	}}
	p.Budget = plan.Budget{Epsilon: epsilon, Delta: 1e-5, Adjacency: "replacement"}
	p.Crowd = plan.Crowd{Minimum: minimum}
	return example.Design(t, p)
}

// Canaries whose devices answer a plan prove nothing above its promise; where a bit says three
// times as much they prove it false. The shift, of 0.5 deviations where epsilon is 2, then has a standard error of
// 0.11 about 1.5, and is enough from 1.02 on: four less are missed once in ten thousand seeds.
func TestCanariesInAPlan(t *testing.T) {
	r := route(t, sumOfVectors(t, 2048, 400, 2))
	find := func() Finding {
		findings, err := r.Canaries(400, seed(t), calm)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v", findings)
		return findings[1]
	}
	holds(t, find())
	twin := r.legs[0].protocol.Plan
	ask := *twin.Question.Vector
	ask.Rounds = []plan.VectorRound{ask.Rounds[0]}
	ask.Rounds[0].Flip = max(0.01, 3*ask.Rounds[0].Flip-1) // a bit says three times as much
	twin.Question.Vector = &ask
	var err error
	if r.legs[0].protocol, err = protocol.New(twin); err != nil {
		t.Fatal(err)
	}
	found := find()
	stattest.Caught(t, func(tb testing.TB) { holds(tb, found) })
	if _, err := r.Canaries(401, 1, calm); err == nil {
		t.Error("more canaries than honest respondents were taken")
	}
	_, err = route(t, small(t)["krr"]).Canaries(10, 1, calm)
	example.Mentions(t, err, "no room for canaries", "histogram")
}
