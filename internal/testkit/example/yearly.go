package example

import (
	"testing"

	"github.com/confetti-dp/confetti/plan"
)

// Yearly returns a plan that counts from round to round who did one of so many things, at most so many times in all.
func Yearly(t testing.TB, rounds, events, cells int, noise string) plan.Plan {
	t.Helper()
	p := Summed(Histograms()["set"], noise)
	values := []string{"joined", "left", "paid"}[:cells]
	p.Question.Histogram = &plan.Histogram{
		Attributes: []plan.Attribute{{Name: "today", Kind: "set", Values: values, Most: 1}},
		Randomizer: plan.Randomizer{Name: plan.RandomizerNone},
	}
	p.Question.Unfit = "reference"
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement"}
	route := *p.Route.Sum
	route.Law, route.Decay, route.Sigma = "", 0, 0
	route.Correlated = &plan.Correlated{Rounds: rounds, Events: events}
	p.Route.Sum = &route
	return Design(t, p)
}

// Windowed returns a plan of so many rounds that counts the distinct people of any rounds that follow each other, each person
// at most so many times in all.
func Windowed(t testing.TB, rounds, events int, noise string) plan.Plan {
	t.Helper()
	p := Yearly(t, rounds, events, 1, noise)
	route := *p.Route.Sum
	route.Law, route.Sigma, route.Circuit, route.Chunk = "", 0, plan.Circuit{}, 0
	route.Correlated = &plan.Correlated{Rounds: rounds, Events: events, Windows: true}
	p.Route.Sum = &route
	return Design(t, p)
}

// Turning returns a plan that counts of how many something has begun and not ended, each person at most so many times in all.
func Turning(t testing.TB, rounds, events int, noise string) plan.Plan {
	t.Helper()
	p := Yearly(t, rounds, events, 2, noise)
	route := *p.Route.Sum
	route.Law, route.Sigma, route.Circuit, route.Chunk = "", 0, plan.Circuit{}, 0
	route.Correlated = &plan.Correlated{Rounds: rounds, Bits: 10, Events: events, Turns: true} // without bits a design may ask afresh
	p.Route.Sum = &route
	return Design(t, p)
}
