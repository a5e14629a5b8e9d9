// Package example holds plans for tests, and what their devices hold. Used by tests of protocol, question, internal
// and cmd/confetti.
package example

import (
	"bytes"
	"crypto/ed25519"
	"strings"
	"sync"

	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/account/additive"
	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Density returns a plan that is complete but for what Design fills in; tests change
// one thing at a time. Its keys have the right form and open nothing.
func Density(bitsum string) plan.Plan {
	key := "x25519:" + strings.Repeat("A", 43)
	return plan.Plan{
		Version: plan.Version,
		Title:   "Where do people walk?",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension:   3,
			Kernel:      plan.Kernel{Name: "gaussian", Bandwidth: 1, Seed: strings.Repeat("5a", 32)},
			Repetitions: 4,
			Bitsum:      plan.Bitsum{Name: bitsum, Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 2, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: 3, DishonestShare: 0.1},
		Crowd:     plan.Crowd{Names: []string{"hills", "shore"}, Minimum: 500},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{
			{Operator: "North", Key: key}, {Operator: "South", Key: key},
		}}}}},
		Analyzer: plan.Party{Operator: "Research", Key: key, Releases: Releaser},
	}
}

// releases returns the key that signs the releases of these plans. Few tests do, and programs of sessions all begin.
var releases = sync.OnceValue(func() ed25519.PrivateKey {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x5a}, ed25519.SeedSize))
	if plan.Publisher(key.Public().(ed25519.PublicKey)) != Releaser {
		panic("these plans name another key for releases")
	}
	return key
})

// Releaser is the public key that these plans name for releases.
const Releaser = "ed25519:DXVQdU4IAKXSN-71gmA1dmubPloVhoqUCrKJlYeI47A"

// SignRelease signs a release of such a plan.
func SignRelease(e plan.Entry) []byte { return e.Sign(releases()) }

// Form returns the form of contributions to an instance of a plan.
func Form(p plan.Plan, instance int) envelope.Form {
	e := p.Envelopes
	return envelope.NewForm(p.Hash(), uint16(instance), envelope.Suite(e.Suite), e.PerDevice, e.PayloadBytes, p.Slots(instance))
}

// Version2 returns a plan as version 2 has it, which names nobody who signs its releases: what
// vectors hold that were written before.
func Version2(p plan.Plan) plan.Plan {
	p.Version, p.Analyzer.Releases = 2, ""
	return p
}

// Identity makes the plan ask for coordinates as they are: channel i is
// coordinate i.
func Identity(p *plan.Plan, dimension int) {
	p.Question.Density.Kernel = plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)}
	p.Question.Density.Dimension, p.Question.Density.Repetitions = dimension, 1
}

// Histogram returns a plan of a histogram, complete but for what Design fills in.
func Histogram(h plan.Histogram) plan.Plan {
	p := Density("rr")
	p.Title = "What do people drink?"
	p.Question = plan.Question{Kind: "histogram", Unfit: "reference", Histogram: &h}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "removal", DishonestShare: 0.1}
	p.Crowd = plan.Crowd{Minimum: 1000}
	return p
}

func Drinks() plan.Attribute {
	return plan.Attribute{Name: "drink", Kind: "categories", Values: []string{"coffee", "tea", "water"}, Others: true}
}

func OneHot(attributes ...plan.Attribute) plan.Histogram {
	return plan.Histogram{Attributes: attributes, Randomizer: plan.Randomizer{Name: "one-hot", Accounting: "exact"}}
}

var Seed = strings.Repeat("5a", 32)

// Histograms are histograms of every kind, by name.
func Histograms() map[string]plan.Plan {
	basket := plan.Attribute{Name: "basket", Kind: "set", Size: 8, Most: 2}
	rising := plan.Attribute{Name: "rising", Kind: "buckets", Low: 4, High: 12, Cells: 16}
	plans := map[string]plan.Plan{}
	add := func(name string, h plan.Histogram, edit func(p *plan.Plan, h *plan.Histogram)) {
		p := Histogram(h)
		if edit != nil {
			edit(&p, p.Question.Histogram)
		}
		plans[name] = p
	}
	replacement := func(p *plan.Plan, _ *plan.Histogram) { p.Budget.Adjacency = "replacement" }
	add("categories", OneHot(Drinks()), nil)
	add("replacement", OneHot(Drinks()), replacement)
	add("asymmetric", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		replacement(p, h)
		h.Randomizer.Name = "one-hot-asymmetric"
	})
	add("paper", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Randomizer.Accounting, p.Crowd.Minimum = "paper", 100_000
	})
	add("set", OneHot(basket), nil)
	add("grid", OneHot(plan.Attribute{Name: "place", Kind: "grid", X: &plan.Axis{Low: 0, High: 1, Cells: 4}, Y: &plan.Axis{Low: 0, High: 1, Cells: 3}}), nil)
	add("sample", OneHot(Drinks(), rising, basket), func(p *plan.Plan, h *plan.Histogram) { h.Collect, p.Crowd.Minimum = "sample", 3000 })
	add("split", OneHot(Drinks(), rising, basket), func(_ *plan.Plan, h *plan.Histogram) { h.Collect = "split" })
	add("fragments", OneHot(Drinks()), func(_ *plan.Plan, h *plan.Histogram) { h.Randomizer.Fragments = 4 })
	add("spread", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Randomizer.Fragments = 4
		Spread(p, 2)
	})
	add("crowds", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		p.Crowd.Names = []string{"north", "south"}
		c, _ := additive.NewCrowd(1, 1e-6)
		p.Crowd.Deletion = &plan.Deletion{Epsilon: 1, Delta: 1e-6, Noise: c.Noise, Threshold: c.Threshold}
	})
	add("count-mean", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Sketch, p.Crowd.Minimum = &plan.Sketch{Name: "count-mean", Hashes: 3, Width: 8, Seed: Seed}, 3000
	})
	add("count", OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
		h.Sketch, p.Crowd.Minimum = &plan.Sketch{Name: "count", Hashes: 3, Width: 8, Seed: Seed}, 3000
		h.Randomizer.Fragments = 2
	})
	add("split sketch", OneHot(Drinks(), rising), func(p *plan.Plan, h *plan.Histogram) {
		h.Collect, p.Crowd.Minimum = "split", 3000
		h.Sketch = &plan.Sketch{Name: "count-mean", Hashes: 3, Width: 8, Seed: Seed}
	})
	for _, name := range []string{"krr", "subset", "local-hash", "hadamard"} {
		add(name, OneHot(Drinks()), func(p *plan.Plan, h *plan.Histogram) {
			replacement(p, h)
			h.Randomizer.Name = name
			if h.Randomizer.Seeded() {
				h.Randomizer.Functions, h.Randomizer.Seed = 5, Seed
			}
		})
	}
	return plans
}

func Spread(p *plan.Plan, instances int) {
	one := p.Route.Mix.Instances[0]
	p.Route.Mix = &plan.Mix{Spread: plan.SpreadAll}
	for range instances {
		p.Route.Mix.Instances = append(p.Route.Mix.Instances, one)
	}
}

// Answers returns the value of respondent i to any of the designs.
func Answers(p plan.Plan, i int) histogram.Answers {
	a := histogram.Answers{Crowd: i % p.Crowds()}
	for _, attribute := range p.Question.Histogram.Attributes {
		switch attribute.Kind {
		case "categories":
			a.Values = append(a.Values, []string{"coffee", "coffee", "tea", "beer"}[i%4])
		case "set":
			a.Values = append(a.Values, []int{i % 8, 7}[:1+i%2])
		case "buckets":
			a.Values = append(a.Values, 4+float64(i%9))
		case "grid":
			a.Values = append(a.Values, encode.Point{X: float64(i%5) / 5, Y: 0.5})
		}
	}
	return a
}

// Small are plans over few cells whose numbers are written down.
func Small() map[string]plan.Plan {
	plans := map[string]plan.Plan{}
	add := func(name string, h plan.Histogram, edit func(p *plan.Plan, z *plan.Randomizer)) {
		p := Histogram(h)
		z := &p.Question.Histogram.Randomizer
		z.Epsilon, z.Keep, z.Flip = 100, 0.8, 0.25
		p.Crowd.Minimum, p.Budget.DishonestShare, p.Budget.Delta = 3, 0, 0.01
		p.Budget.Epsilon = 100
		p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 20, 8
		if edit != nil {
			edit(&p, z)
		}
		plans[name] = p
	}
	two := plan.Attribute{Name: "a", Kind: "categories", Size: 2}
	three := plan.Attribute{Name: "b", Kind: "categories", Size: 3}
	replacement := func(p *plan.Plan, _ *plan.Randomizer) { p.Budget.Adjacency = "replacement" }
	fragments := func(_ *plan.Plan, z *plan.Randomizer) {
		z.Fragments, z.Backstop, z.BackstopKeep, z.BackstopFlip = 2, 100, 0.85, 0.2
	}
	add("removal", OneHot(three), nil)
	add("replacement", OneHot(three), replacement)
	add("symmetric", OneHot(three), func(_ *plan.Plan, z *plan.Randomizer) { z.Keep, z.Flip = 0.8, 0.2 })
	add("set", OneHot(plan.Attribute{Name: "s", Kind: "set", Size: 3, Most: 2}), nil)
	add("set, replacement", OneHot(plan.Attribute{Name: "s", Kind: "set", Size: 3, Most: 2}), replacement)
	add("set of one, replacement", OneHot(plan.Attribute{Name: "s", Kind: "set", Size: 3, Most: 1}), func(p *plan.Plan, z *plan.Randomizer) {
		replacement(p, z) // an empty set has more dummies than another, and names tell little
		z.Keep, z.Flip, p.Envelopes.PerDevice = 0.9, 0.8, 3
	})
	split := OneHot(two, two)
	split.Attributes[1].Name, split.Collect = "c", "split"
	add("split", split, nil)
	sample := OneHot(two, two)
	sample.Attributes[1].Name, sample.Collect = "c", "sample"
	add("sample", sample, func(p *plan.Plan, _ *plan.Randomizer) { p.Crowd.Minimum, p.Budget.Delta = 8, 0.9 })
	add("fragments", OneHot(two), fragments)
	add("noisy fragments", OneHot(two), func(p *plan.Plan, z *plan.Randomizer) {
		fragments(p, z)
		z.Keep, z.Flip = 0.55, 0.45
	})
	add("spread", OneHot(two), func(p *plan.Plan, z *plan.Randomizer) {
		fragments(p, z)
		Spread(p, 2)
		p.Crowd.Minimum = 2
	})
	add("spread by two", OneHot(two), func(p *plan.Plan, z *plan.Randomizer) {
		fragments(p, z)
		z.Fragments = 4
		Spread(p, 2)
		p.Crowd.Minimum = 2
	})
	return plans
}

// Gradient returns a plan of gradients of a linear model of three numbers in two classes, complete
// but for what Design fills in.
func Gradient(report string) plan.Plan {
	p := Density("rr")
	p.Title = "What do people like?"
	p.Question = plan.Question{Kind: "gradient", Unfit: "reference", Gradient: &plan.Gradient{
		Dimension: 3, Classes: []string{"tea", "coffee"}, Model: "linear", Seed: Seed, Clip: 1,
		Report: plan.GradientReport{Name: report}, Step: plan.GradientStep{Rate: 1, Bound: 100},
	}}
	p.Budget = plan.Budget{Epsilon: 1, Delta: 1e-6, Adjacency: "replacement", DishonestShare: 0.1}
	p.Crowd = plan.Crowd{Minimum: 1000}
	return p
}

// Summed returns the plan whose answers are summed, with noise of so many; its keys have the
// right form and open nothing.
func Summed(p plan.Plan, noise string) plan.Plan {
	key := func(letter string) string { return "x25519:" + strings.Repeat(letter, 43) }
	p.Route = plan.Route{Kind: plan.RouteSum, Sum: &plan.Sum{
		Leader: plan.Party{Operator: "North", Key: key("B")}, Helper: plan.Party{Operator: "South", Key: key("C")}, Noise: noise,
	}}
	p.Crowd.Maximum = 0
	if e := p.Question.Experiment; e != nil { // without what is of rows
		summed := *e
		summed.Seed, summed.Bits, p.Question.Experiment = "", nil, &summed
	}
	if e := p.Question.Table; e != nil {
		p.Question.Table = &plan.Crosstab{Columns: e.Columns}
	}
	return p
}

// Strings returns a plan of strings of two letters, complete but for what Design fills in.
func Strings() plan.Plan {
	p := Gradient("vector")
	p.Question = plan.Question{Kind: "strings", Unfit: "reference", Strings: &plan.Strings{
		Alphabet: "ab", Longest: 3, Seed: Seed, Cells: 8, Hashes: 1, Tail: 2, Buckets: 4, Pairs: 0.1, Answered: 64,
	}}
	return p
}

// Table returns a plan of tables of three columns, complete but for what Design fills in.
func Table() plan.Plan {
	p := Gradient("vector")
	p.Question = plan.Question{Kind: "table", Unfit: "reference", Table: &plan.Crosstab{
		Columns: []plan.Column{
			{Name: "drink", Values: []string{"tea", "coffee"}, Others: true}, {Name: "class", Values: []string{"student", "staff"}}, {Name: "spend", Cuts: []float64{5, 20}},
		},
		Seed: Seed, Answered: 64,
	}}
	return p
}

// Experiment returns a plan of two arms and one metric, which was known before, complete but for what Design fills in.
func Experiment() plan.Plan {
	p := Gradient("vector")
	p.Question = plan.Question{Kind: "experiment", Unfit: "reference", Experiment: &plan.Experiment{
		Arms: []string{"control", "new"}, Looks: 1, Look: 1, Seed: Seed, Bits: &plan.BitsSent{Answered: 64},
		Metrics: []plan.Measure{{Name: "minutes", Low: -20, High: 100, Before: "minutes_before", Times: 0.5, Most: 120, Taken: 15, LostAlike: 0.01, LostShare: 0.1}},
	}}
	return p
}

// Vector returns a plan of vectors of three features in two classes, complete but for what Design
// fills in.
func Vector(rounds ...plan.VectorRound) plan.Plan {
	p := Gradient("vector")
	p.Question = plan.Question{Kind: "vector", Unfit: "reference", Vector: &plan.Vector{
		Features: 3, Classes: []string{"round", "square"}, Seed: Seed, Rounds: rounds,
	}}
	return p
}
