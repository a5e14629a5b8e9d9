package protocol_test

import (
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/encode/whiten"
	lat "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"

	"github.com/confetti-dp/confetti/question/vector"
)

// reportCases are plans of every kind, and what their devices hold.
func reportCases(t *testing.T) []*reportCase {
	var all []*reportCase
	add := func(name string, p plan.Plan, state []byte, held ...reportValue) {
		t.Helper()
		if state != nil {
			p.State = plan.StateName(state)
		}
		c := &reportCase{Name: name, Plan: p.Canonical(), State: state, Key: keyOf(name)}
		for _, v := range held {
			c.Devices = append(c.Devices, reportDevice{Value: v})
		}
		all = append(all, c)
	}
	for name, p := range example.Histograms() {
		if name == "paper" { // as the others, with another accounting
			continue
		}
		p = example.Design(t, p)
		add("histogram, "+name, p, nil, histogramValues(p, 8)...)
	}

	for name, b := range map[string]plan.Bitsum{
		"rr":      {FlipProbability: 0.25},
		"3nb":     {Noise: 0.75, FloodShape: 1.5, FloodProbability: 0.5},
		"pure":    {ChannelEpsilon: 1.5, Theta: 0.5, Drop: 0.25, Size: 3},
		"poisson": {Mean: 3},
		"nb":      {Shape: 2, Probability: 0.5},
	} {
		p := example.Density(name)
		p.Crowd.Minimum, p.Budget.DishonestShare, p.Envelopes.PayloadBytes, p.Envelopes.PerDevice = 2, 0, 8, 40
		if name == "rr" {
			p.Envelopes.PerDevice = 4
		}
		if b.Noise > 0 || b.Shape > 0 || b.Size > 0 {
			p.Crowd.Maximum = 6
		}
		b.Name, b.Accounting = name, "exact"
		p.Question.Density.Bitsum = b
		add("density, "+name, p, nil, labelled(2, 8)...)
	}

	for name, ask := range map[string]plan.Strings{
		"letters":       {Alphabet: "abcé", Longest: 4, Cells: 4, Hashes: 1, Tail: 2, Buckets: 3, Pairs: 0.1, Rows: 256},
		"any text, cut": {Longest: 5, Cells: 8, Hashes: 2, Tail: 3, Buckets: 5, Rows: 1024},
	} {
		p := example.Strings()
		ask.Seed, ask.Answered, ask.Clip, ask.Flip, ask.Rare = example.Seed, 6, 2, 0.25, 1e-9
		p.Question.Strings, p.Envelopes.PayloadBytes, p.Envelopes.PerDevice = &ask, 8, 12
		if ask.Alphabet == "" {
			p.Question.Unfit = plan.UnfitClip
		}
		add("strings, "+name, p, nil, texts("abc", "a", "é", "abcab", "zz", "", "néé!")...)
	}

	table := example.Table()
	t2 := table.Question.Table
	t2.Main, t2.Rows, t2.Answered, t2.Clip, t2.Flip, t2.Rare = 0.2, 1024, 6, 2, 0.25, 1e-9
	table.Envelopes.PayloadBytes, table.Envelopes.PerDevice = 8, 12
	var records []reportValue
	for _, held := range [][3]any{{"tea", "staff", 4.5}, {"coffee", "student", 5.0}, {"mate", "student", 1e9}, {"tea", "guest", -3.0}} {
		records = append(records, reportValue{Answers: [][]any{{held[0]}, {held[1]}, {held[2]}}})
	}
	add("table", table, nil, append(records, reportValue{Answers: [][]any{{}, {"staff"}, {}}})...)
	for name, p := range map[string]plan.Plan{"rows": example.Experiment(), "sums": example.Summed(example.Experiment(), plan.NoiseAggregators)} {
		ask := plan.Experiment{Arms: []string{"control", "new", "newer"}, Looks: 2, Look: 1, Metrics: []plan.Measure{
			{Name: "minutes", Low: -20, High: 100, Before: "minutes_before", Times: 0.625, Most: 120}, {Name: "clicks", Low: -2.5, High: 6, Per: "views", Rate: 0.0825, PerMean: 10}, {Name: "paid", High: 1},
		}}
		if name == "rows" {
			ask.Seed, ask.Bits = example.Seed, &plan.BitsSent{Answered: 6, Rows: 32, Clip: 3, Flip: 0.25, Rare: 1e-9}
			p.Envelopes.PayloadBytes, p.Envelopes.PerDevice = 8, 12
		}
		p.Question.Experiment = &ask
		if name == "sums" {
			p = example.Design(t, p)
		}
		add("experiment, "+name, p, nil, tested()...)
	}

	add3 := func(name string, p plan.Plan, state []byte, n int) { add(name, p, state, labelled(2, n)...) }
	for _, sums := range []string{plan.SumsFeatures, plan.SumsClasses, plan.SumsMoments, plan.SumsSquares} {
		p := vectors(sums, 32)
		if sums == plan.SumsFeatures {
			p.Question.Vector.Classes = nil
		}
		held := labelled(2, 6)
		if sums == plan.SumsFeatures || sums == plan.SumsSquares {
			for i := range held {
				for j := range held[i].Features {
					held[i].Features[j] /= 2
				}
			}
		}
		add("vector, "+sums, p, nil, held...)
	}
	p := vectors(plan.SumsSquares, 32)
	p.Question.Unfit = plan.UnfitClip
	p.Question.Vector.Classes, p.Question.Vector.Number = nil, &plan.Number{Name: "age", Low: 20, High: 80}
	held := labelled(0, 6)
	for i := range held {
		age := float64(15 * i)
		held[i].Class, held[i].Number = nil, &age
	}
	add("vector, of a number, clipped", p, nil, held...)
	mapped := &vector.State{Map: &whiten.State{Mean: []float32{0.5, 0, 0.25, 1}, Matrix: blas32.General{Rows: 3, Cols: 4, Stride: 4, Data: []float32{1, 0, 0.5, 0, 0, 2, 0, 1, 1, 1, 1, 1}}}}
	held = labelled(2, 6)
	for i := range held {
		held[i].Features = append(held[i].Features, 0.5)
	}
	add("vector, mapped", vectors(plan.SumsMoments, 32), mapped.Marshal(), held...)
	at := &vector.State{Point: &features.Point{
		Shape: features.Shape{Dimension: 3, Classes: 2}, Mean: []float32{0.25, 0, 0}, Weights: []float64{0.5, -0.5, 1, 0, 0.125, 0},
		Whiten: blas32.General{Rows: 3, Cols: 3, Stride: 3, Data: []float32{1, 0, 0, 0.5, 1, 0, 0, 0, 2}},
	}}
	add3("vector, "+plan.SumsGradients, vectors(plan.SumsGradients, 16), at.Marshal(), 6)

	for _, report := range plan.GradientReports {
		p := example.Design(t, example.Gradient(report))
		add3("gradient, "+report, p, first(t, p), 6)
	}

	clusters := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 10, 0, 0, 10}}, Sizes: []int{300, 200, 100}, Offsets: []float32{0, 3, 0}}
	if err := clusters.Prepare(); err != nil {
		t.Fatal(err)
	}
	add("label, clusters", example.Design(t, labels(plan.Label{Report: plan.LabelClusters, Features: 2, Clusters: 3})), clusters.Marshal(), pairs(3, 8)...)
	sums := example.Design(t, labels(plan.Label{Report: plan.LabelSums, Features: 3, Seed: example.Seed}))
	add3("label, sums", sums, nil, 6)
	add("label, each", example.Design(t, labels(plan.Label{Report: plan.LabelEach, Records: 9})), nil, numberedOf(pairs(3, 8))...)

	score := &cluster.Encoder{Net: network(t, 2, 3), Sizes: []int{3, 2, 1}}
	scores, err := score.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	add("latent, symbols", example.Design(t, latents(plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentSymbols, Clusters: 3})), clusters.Marshal(), pairs(2, 8)...)
	add("latent, right", example.Design(t, latents(plan.Latent{Features: 2, Classes: []string{"a", "b", "c"}, Report: plan.LatentRight, Clusters: 3})), scores, pairs(3, 8)...)
	add("latent, numbered symbols", example.Design(t, latents(plan.Latent{Features: 2, Classes: []string{"a", "b", "c"}, Report: plan.LatentSymbols, Clusters: 3, Records: 9})), clusters.Marshal(), numberedOf(pairs(3, 8))...)
	encoder := &lat.Encoder{Net: network(t, 2, 4), Length: 6, Prototypes: blas32.General{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}, Sizes: []int{1, 1}, Trained: lat.Trained{Method: "pca", Of: "made up", Records: 2, Claim: lat.ClaimPublic}}
	state, err := encoder.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, mechanism := range []string{lat.NameLaplace, lat.NameGaussian, lat.NameCap} {
		z := &plan.Latents{Mechanism: mechanism, Dim: 4, Length: encoder.Ball(mechanism)}
		alone := latents(plan.Latent{Features: 2, Report: plan.LatentVector, Vector: z})
		alone.Crowd.Names = []string{"north", "south"}
		held := pairs(0, 6)
		for i := range held {
			zero := 0
			held[i].Crowd, held[i].Class = i%2, &zero
		}
		add("latent, "+mechanism+" in crowds", example.Design(t, alone), state, held...)
		classes := plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentVector, Vector: z, Records: 9}
		add("latent, "+mechanism+" with a class, numbered", example.Design(t, latents(classes)), state, numberedOf(pairs(2, 6))...)
	}

	for name, noise := range map[string]string{"aggregators": plan.NoiseAggregators, "devices": plan.NoiseDevices} {
		for _, attribute := range []string{"categories", "set"} {
			p := example.Histograms()[attribute]
			p.Budget.Adjacency = "replacement"
			if noise == plan.NoiseDevices {
				p.Question.Histogram.Randomizer.Name = plan.RandomizerNone
			}
			p = example.Design(t, example.Summed(p, noise))
			add("summed, "+attribute+" with noise of "+name, p, nil, histogramValues(p, 6)...)
		}
	}
	flips := example.Design(t, example.Summed(example.Histograms()["split"], plan.NoiseDevices))
	add("summed, flipped bits", flips, nil, histogramValues(flips, 6)...)
	add3("summed, density", example.Design(t, example.Summed(example.Density("rr"), plan.NoiseDevices)), nil, 6)
	add3("summed, vector", example.Design(t, example.Summed(example.Vector(plan.VectorRound{Sums: plan.SumsClasses, Answered: 4}), plan.NoiseDevices)), nil, 6)
	bits := example.Design(t, example.Summed(example.Gradient("vector"), plan.NoiseDevices))
	add3("summed, gradient", bits, first(t, bits), 6)
	asked := example.Summed(example.Strings(), plan.NoiseAggregators)
	asked.Question.Strings.Answered, asked.Question.Strings.Pairs = 0, 3.0/8
	add("summed, strings", example.Design(t, asked), nil, texts("ab", "bba", "b", "abab", "")...)
	return all
}

// vectors is a plan of vectors of three features whose numbers are written down.
func vectors(sums string, rows int) plan.Plan {
	p := example.Vector(plan.VectorRound{Sums: sums, Answered: 6, Rows: rows, Clip: 2, Flip: 0.125, Rare: 1e-9})
	p.Envelopes.PerDevice, p.Envelopes.PayloadBytes = 10, 8
	return p
}

func labels(l plan.Label) plan.Plan {
	l.Classes = []string{"a", "b", "c"}
	p := example.Gradient("direction")
	p.Title = "Which labels?"
	p.Question = plan.Question{Kind: "label", Unfit: plan.UnfitReference, Label: &l}
	p.Budget.Adjacency = plan.AdjacencyLabel
	return p
}

func latents(l plan.Latent) plan.Plan {
	p := example.Gradient("direction")
	p.Title = "Which records?"
	p.Question = plan.Question{Kind: "latent", Unfit: plan.UnfitReference, Latent: &l}
	p.Budget = plan.Budget{LocalEpsilon: 4, Delta: 1e-6, Adjacency: "replacement", DishonestShare: 0.1}
	return p
}

// first is the state of the first round of gradients.
func first(t *testing.T, p plan.Plan) []byte {
	t.Helper()
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	state, _, err := proto.Question.(question.Stepper).Next(nil)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// network is a small one of two layers.
func network(t *testing.T, in, out int) *nn.Model {
	t.Helper()
	m, err := nn.New(seeded.New(20261123), nn.Dense{In: in, Out: 5}, nn.ReLU{Size: 5}, nn.Dense{In: 5, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// labelled are records of three features, of so many classes; the last has a class that is none,
// and the one before no features.
func labelled(classes, n int) []reportValue {
	held := make([]reportValue, n)
	for i := range held {
		class := i % max(1, classes)
		held[i] = reportValue{Features: []float32{0.5 - 0.25*float32(i), 0.75, 0.125 * float32(i)}, Class: &class}
	}
	held[n-2].Features = []float32{1, 2}
	held[n-1].Class = nil
	return held
}

// pairs are records of two features; the last has a class that is none.
func pairs(classes, n int) []reportValue {
	held := make([]reportValue, n)
	for i := range held {
		class := i % max(1, classes)
		held[i] = reportValue{Features: []float32{[]float32{1, 9, 0}[i%3], []float32{1, 1, 8}[i%3] + float32(i)/8}, Class: &class}
	}
	held[n-1].Class = nil
	return held
}

func numberedOf(held []reportValue) []reportValue {
	for i := range held {
		record := i
		held[i].Record = &record
	}
	return held
}

func texts(all ...string) []reportValue {
	held := make([]reportValue, len(all))
	for i, s := range all {
		held[i].Answers = [][]any{{s}}
	}
	return held
}

// histogramValues are example.Answers; the last of them has no cell anywhere, where that can be.
func histogramValues(p plan.Plan, n int) []reportValue {
	held := make([]reportValue, n)
	for i := range held {
		a := example.Answers(p, i)
		held[i].Crowd = a.Crowd
		for j, v := range a.Values {
			held[i].Answers = append(held[i].Answers, given(p.Question.Histogram.Attributes[j], v, i == n-1))
		}
	}
	return held
}

func given(a plan.Attribute, answer any, last bool) []any {
	switch v := answer.(type) {
	case string:
		return []any{v}
	case float64:
		if last {
			v = 1e6
		}
		return []any{v}
	case []int:
		texts := []any{}
		for _, item := range v {
			texts = append(texts, string(rune('0'+item)))
		}
		if last {
			texts = append(texts, "99")
		}
		return texts
	}
	point := answer.(encode.Point)
	return []any{point.X, point.Y}
}

// refusedValues are no answers to the cases of these names.
func refusedValues() []refusedValue {
	number := func(n int) *int { return &n }
	return []refusedValue{
		{"histogram, crowds", reportValue{Crowd: 2, Answers: [][]any{{"tea"}}}, "the plan has two crowds"},
		{"histogram, split", reportValue{Answers: [][]any{{"tea"}}}, "the plan has three attributes"},
		{"label, each", reportValue{Record: number(9), Class: number(0)}, "the plan has nine records"},
		{"label, clusters", reportValue{Features: []float32{1, 2, 3}, Class: number(0)}, "a cluster is of two features, which are public"},
		{"latent, symbols", reportValue{Features: []float32{1}, Class: number(0)}, "a record has two numbers"},
		{"latent, numbered symbols", reportValue{Features: []float32{1, 2}, Record: number(9), Class: number(0)}, "the plan has nine records"},
		{"latent, laplace in crowds", reportValue{Crowd: 2, Features: []float32{1, 2}, Class: number(0)}, "the plan has two crowds"},
	}
}

// tested are respondents of three arms with six numbers, the last of whom do not fit.
func tested() (all []reportValue) {
	for i := range 8 {
		arm, x := i%3, float32(i)
		if i == 6 {
			arm = 3
		}
		v := reportValue{Class: &arm, Features: []float32{16 * x, 24 * x, x, 8 + x, x - float32(int(x)/2*2)}}
		if i == 7 {
			v.Features = v.Features[:4]
		}
		all = append(all, v)
	}
	return all
}
