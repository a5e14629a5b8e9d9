package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// sample is a plan over the coordinates themselves: channel j is coordinate j.
// Its noise is written down, since what is tested are the totals and not the promise.
func sample(bitsum string, dimension int) plan.Plan {
	p := plan.Plan{
		Version: plan.Version,
		Title:   "A tiny collection",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: dimension, Normalize: true,
			Kernel:      plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)},
			Repetitions: 1,
			Bitsum:      plan.Bitsum{Name: bitsum, Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 2, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: plan.Unprotected},
		Crowd:     plan.Crowd{Names: []string{"hills", "shore"}, Minimum: 1, Maximum: 100_000},
		Envelopes: plan.Envelopes{Suite: "x25519", PayloadBytes: 8, PerDevice: dimension},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: make([]plan.Instance, 1)}},
		Analyzer:  plan.Party{Operator: "Research"},
	}
	p.Route.Mix.Instances[0].Hops = []plan.Party{{Operator: "North"}, {Operator: "South"}}
	if b := &p.Question.Density.Bitsum; bitsum == "rr" {
		b.FlipProbability = 0.25
	} else {
		// So much noise that totals vary, and so few messages that none overflow.
		p.Crowd.Minimum = 4
		b.Noise, b.FloodShape, b.FloodProbability, p.Envelopes.PerDevice = 1, 1.5, 0.25, 60
	}
	return p
}

func runnable(t testing.TB, p plan.Plan) (*protocol.Protocol, simulate.Keys) {
	t.Helper()
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto, keys
}

// population is n respondents, every third at the shore, with features all over
// but mostly along the first coordinate, so that its bits are nearly certain and
// the noise shows.
func population(n, dimension int) []question.Value {
	r := seeded.New(99)
	values := make([]question.Value, n)
	for i := range values {
		x := make([]float32, dimension)
		for j := range x {
			x[j] = float32(r.NormFloat64())
		}
		x[0] += 4
		values[i] = density.Labelled{Features: x, Class: min(1, i%3/2)}
	}
	return values
}

// unsealed is fidelity full without its seals: every device encodes, randomizes
// and fragments, and what it would seal is counted. TestSealsChangeNothing
// shows that it gives what Full gives.
func unsealed(t testing.TB, p *protocol.Protocol, values []question.Value, device func(i int) *rand.Rand) []tally.Crowd {
	tallies := make([]tally.Crowd, p.Plan.Crowds())
	for i, v := range values {
		symbol, err := p.Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		r := device(i)
		report, err := p.Randomize(r, symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		to := &tallies[report.Crowd]
		if to.Tally == nil {
			to.Tally = p.NewTally()
		}
		to.Smallest++
		for _, part := range report.Parts {
			to.Respondents++
			for _, payload := range fragment.Pack(r, part, p.Plan.Envelopes.PerDevice, p.Plan.Envelopes.PayloadBytes) {
				if err := fragment.Count(to.Tally, payload); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return tallies
}

// cells are the counts of a crowd.
func cells(c tally.Crowd) []uint64 { return c.Tally.(*tally.Counts).N }

func quiet(string, int, int) {}

func name(bitsum string, labels plan.LabelEpsilon) string {
	if labels == plan.Unprotected {
		return bitsum + ", labels as they are"
	}
	return fmt.Sprintf("%s, labels at epsilon %v", bitsum, labels)
}
