package confetti_test

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/party/analyzer"
	"github.com/confetti-dp/confetti/party/shuffler"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// A phone knows how its owner moves: a point in some space of features, and
// whether that was on foot or by bicycle. What do the two look like? The
// question goes once round, in memory, and nobody sees a point or a label.
func Example() {
	// Plan: what is asked, by which mechanism, with which promise, over whom.
	p := plan.Plan{
		Version: plan.Version,
		Title:   "How do people on foot move, and how do cyclists?",
		Question: plan.Question{Kind: "density", Unfit: plan.UnfitReference, Density: &plan.Density{
			Dimension:   2,
			Kernel:      plan.Kernel{Name: "gaussian", Bandwidth: 1.5, Seed: strings.Repeat("c2", 32)},
			Repetitions: 8,
			Bitsum:      plan.Bitsum{Name: "rr", Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 4, Delta: 1e-6, Adjacency: "replacement", LabelEpsilon: 4},
		Crowd:     plan.Crowd{Names: []string{"on foot", "by bicycle"}, Minimum: 80},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{{Operator: "North"}, {Operator: "South"}}}}}},
		Analyzer:  plan.Party{Operator: "City"},
	}
	keys := must(simulate.NewKeys(&p)) // in earnest, each operator makes its own
	p = must(design.Fill(p))           // the noise that keeps the promise, and what it takes to send

	// Encode, randomize, fragment, seal: on every device. It checks the promise
	// first, and what it hands in is already private.
	device := must(client.Prepare(p))
	entry := must(shuffler.NewCollector(p, 0))
	people, classes := walkersAndCyclists(240)
	for i, class := range classes {
		v := density.Labelled{Features: people.Data[2*i : 2*i+2], Class: class}
		for _, c := range must(device.Report(v)) {
			check(entry.Add(fmt.Sprint("phone ", i), c.Body))
		}
	}

	// Mix, open, count: two operators who do not talk to each other, and the city.
	city := must(analyzer.New(must(protocol.New(p)), keys.Analyzer))
	crowds, _ := entry.Close() // one for each class that enough people reported
	for _, crowd := range crowds {
		batch, _ := must2(must(shuffler.NewHop(p, 0, 0, keys.Hops[0][0])).Enter(crowd))
		batch, _ = must2(must(shuffler.NewHop(p, 0, 1, keys.Hops[0][1])).Mix(batch))
		check(city.Add(batch))
	}

	// Estimate, learn, release.
	var public results.Public
	public.Test.X, public.Test.Y = walkersAndCyclists(200) // of people who told the city
	r, _ := must2(city.Release(public))
	for _, m := range r.Headline {
		switch m.Name {
		case "accuracy":
			fmt.Println("right more often than nine times in ten:", m.Value > 0.9)
		case "respondents":
			fmt.Println("respondents:", m.Value)
		}
	}
	for _, s := range r.Guarantees {
		fmt.Printf("%s: epsilon %.1f\n", s.Observer, s.Guarantee.Epsilon)
	}
	// Output:
	// right more often than nine times in ten: true
	// respondents: 240
	// everyone colludes: epsilon 19.2
	// one fragment seen: epsilon 9.6
	// shuffler honest: epsilon 8.0
}

// walkersAndCyclists makes up n people, with the true class of each.
func walkersAndCyclists(n int) (x blas32.General, classes []int) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x = blas32.General{Rows: n, Cols: 2, Stride: 2}
	for i := range n {
		class := i % 2
		x.Data = append(x.Data, float32(0.5*r.NormFloat64()+math.Pow(-1, float64(class))), float32(0.5*r.NormFloat64()))
		classes = append(classes, class)
	}
	return x, classes
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func must2[T, U any](v T, u U, err error) (T, U) {
	check(err)
	return v, u
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
