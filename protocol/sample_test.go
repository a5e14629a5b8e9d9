package protocol_test

import (
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/dp/tally"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/release"
)

// sample is a plan that is complete but for what Design fills in; tests change
// one thing at a time. Its keys have the right form and open nothing.
func sample(bitsum string) plan.Plan {
	key := "x25519:" + strings.Repeat("A", 43)
	return plan.Plan{
		Version: plan.Version,
		Title:   "Where do people walk?",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension: 3, Classes: []string{"hills", "shore"},
			Kernel:      plan.Kernel{Name: "gaussian", Bandwidth: 1, Seed: strings.Repeat("5a", 32)},
			Repetitions: 4,
			Bitsum:      plan.Bitsum{Name: bitsum, Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 2, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: 3, DishonestShare: 0.1},
		Crowd:     plan.Crowd{Minimum: 500},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route: plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: []plan.Instance{{Hops: []plan.Party{
			{Operator: "North", Key: key}, {Operator: "South", Key: key},
		}}}}},
		Analyzer: plan.Party{Operator: "Research", Key: key},
	}
}

// identity makes the plan ask for coordinates as they are: channel i is
// coordinate i.
func identity(p *plan.Plan, dimension int) {
	p.Question.Density.Kernel = plan.Kernel{Name: "ip-identity", Seed: strings.Repeat("00", 32)}
	p.Question.Density.Dimension, p.Question.Density.Repetitions = dimension, 1
}

func design(t testing.TB, p plan.Plan) plan.Plan {
	t.Helper()
	p, err := protocol.Design(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func runnable(t testing.TB, p plan.Plan) *protocol.Protocol {
	t.Helper()
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return proto
}

// mentions fails unless err says all of want, and nothing of the value that
// stands in the tests' vectors.
func mentions(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that mentions %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not mention %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "62517") {
		t.Errorf("%q holds the respondent's value", err)
	}
}

func newTallies(p *protocol.Protocol) []tally.Crowd {
	tallies := make([]tally.Crowd, p.Plan.Crowds())
	for c := range tallies {
		tallies[c].Tally = p.NewTally()
	}
	return tallies
}

// said reads the body of a message.
func said(t testing.TB, body []byte) (channel, symbol int) {
	t.Helper()
	c, s, err := tally.ParseMessage(body)
	if err != nil {
		t.Fatal(err)
	}
	return int(c), int(s)
}

// cells are the counts of a crowd.
func cells(c tally.Crowd) []uint64 { return c.Tally.(*tally.Counts).N }

// stated is a release without findings.
func stated(t testing.TB, p *protocol.Protocol, crowds []tally.Crowd, came []int) (release.Release, error) {
	t.Helper()
	promise, err := p.Promise()
	if err != nil {
		return release.Release{}, err
	}
	return p.Statement(promise, crowds, came), nil
}
