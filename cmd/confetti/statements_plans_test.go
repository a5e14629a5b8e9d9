package main

import (
	"testing"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/question/gradient"
	"github.com/confetti-dp/confetti/internal/question/label"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/wire/relay"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/question/experiment"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/simulate"
)

// stating is a plan, and what a respondent holds.
type stating struct {
	plan  plan.Plan
	value question.Value
	state []byte
}

// everyRoute are plans of every kind, by every route, with noise of everybody.
func everyRoute(t *testing.T) map[string]stating {
	t.Helper()
	all := map[string]stating{}
	replaced := func(p plan.Plan) plan.Plan {
		p.Budget.Adjacency = "replacement"
		return p
	}
	bare := func(p plan.Plan) plan.Plan { // cells as they are, to which devices add shares of noise
		h := *p.Question.Histogram
		h.Randomizer = plan.Randomizer{Name: plan.RandomizerNone}
		p.Question.Histogram = &h
		return replaced(p)
	}
	histograms := example.Histograms()
	drinks := func(name string, p plan.Plan) {
		all["histogram, "+name] = stating{plan: example.Design(t, p), value: example.Answers(p, 0)}
	}
	for _, name := range []string{"categories", "replacement", "asymmetric", "fragments", "spread", "crowds", "krr", "sample"} {
		drinks(name, histograms[name])
	}
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		drinks("summed with noise of "+noise, example.Summed(replaced(histograms["categories"]), noise))
	}
	drinks("summed with shares of devices", example.Summed(bare(histograms["categories"]), plan.NoiseDevices))
	drinks("summed bits", example.Summed(histograms["categories"], plan.NoiseDevices))
	add := func(name string, p plan.Plan, value question.Value, state []byte) {
		all[name] = stating{example.Design(t, p), value, state}
	}
	x := []float32{0.5, 0.25, 0}
	both := func(name string, p plan.Plan, value question.Value) {
		add(name, p, value, nil)
		add(name+", summed", example.Summed(p, plan.NoiseDevices), value, nil)
	}
	both("density", example.Density("rr"), density.Labelled{Features: x})
	add("density, 3nb", example.Density("3nb"), density.Labelled{Features: x}, nil)
	round := plan.VectorRound{Sums: plan.SumsClasses, Answered: 4}
	both("vector", example.Vector(round), vector.Record{Features: x})
	labels := example.Vector(round)
	labels.Budget.Adjacency = plan.AdjacencyLabel
	add("vector, labels", labels, vector.Record{Features: x}, nil)
	add("strings", example.Strings(), "ab", nil)
	add("table", example.Table(), []any{"tea", "staff", 4.0}, nil)
	tested := experiment.Record{Arm: 1, Numbers: []float64{30, 20}}
	add("experiment", example.Experiment(), tested, nil)
	for _, noise := range []string{plan.NoiseAggregators, plan.NoiseShared} {
		add("experiment, summed with noise of "+noise, example.Summed(example.Experiment(), noise), tested, nil)
	}
	for _, report := range []string{"direction", "vector"} {
		add("gradient, "+report, example.Gradient(report), gradient.Labelled{Features: x}, nil)
	}
	add("gradient, vector, summed", example.Summed(example.Gradient("vector"), plan.NoiseDevices), gradient.Labelled{Features: x}, nil)

	clusters := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 10, 0, 0, 10}}, Sizes: []int{300, 200, 100}, Offsets: []float32{0, 3, 0}}
	if err := clusters.Prepare(); err != nil {
		t.Fatal(err)
	}
	told := func(report plan.Label) plan.Plan {
		report.Classes = []string{"a", "b", "c"}
		p := example.Gradient("direction")
		p.Question, p.Budget.Adjacency = plan.Question{Kind: "label", Unfit: plan.UnfitReference, Label: &report}, plan.AdjacencyLabel
		return p
	}
	add("label, clusters", told(plan.Label{Report: plan.LabelClusters, Features: 2, Clusters: 3}), label.Record{Features: x[:2]}, clusters.Marshal())
	add("label, each", told(plan.Label{Report: plan.LabelEach, Records: 9}), label.Record{}, nil)
	records := example.Gradient("direction")
	records.Question = plan.Question{Kind: "latent", Unfit: plan.UnfitReference, Latent: &plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentSymbols, Clusters: 3}}
	records.State = plan.StateName(clusters.Marshal())
	records.Budget = plan.Budget{LocalEpsilon: 4, Delta: 1e-6, Adjacency: "replacement", DishonestShare: 0.1}
	add("latent", records, latent.Record{Features: x[:2]}, clusters.Marshal())
	return all
}

// signed is the plan alone, or the first of three rounds that a respondent may all answer.
func (s *stating) signed(t *testing.T, rounds bool) (plan.Signed, relay.SignKey) {
	t.Helper()
	key, err := relay.GenerateSignKey()
	if err != nil {
		t.Fatal(err)
	}
	p := s.plan
	if _, err := simulate.NewKeys(&p); err != nil {
		t.Fatal(err)
	}
	const nowhere = "https://127.0.0.1:1"
	for _, in := range p.Route.Instances() {
		for h := range in.Hops {
			in.Hops[h].URL, in.Hops[h].Receipts = nowhere, key.Public().String()
		}
	}
	if sum := p.Route.Sum; sum != nil {
		sum.Leader.URL, sum.Helper.URL = nowhere, nowhere
	}
	p.Analyzer.URL = nowhere
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	if next, ok := proto.Question.(question.Stepper); ok && s.state == nil {
		if s.state, _, err = next.Next(nil); err != nil {
			t.Fatal(err)
		}
	}
	state := ""
	if s.state != nil {
		state = plan.StateName(s.state)
	}
	if !rounds {
		p.State = state
		return plan.Sign(p, key.Private()), key
	}
	p.State = "" // each round has its own
	now := time.Now().UTC().Truncate(time.Second)
	times := plan.Times{Opens: now.Add(-time.Hour), Closes: now.Add(time.Hour)}
	all := plan.SignStudy(plan.Study{Version: 1, Plan: p, Rounds: 3, Takes: plan.TakesAll, Withheld: plan.WithheldRepeats, Coordinator: key.Public().String(), Times: times}, key.Private())
	one, err := all.Round(1, state, times, key.Private())
	if err != nil {
		t.Fatal(err)
	}
	return one, key
}
