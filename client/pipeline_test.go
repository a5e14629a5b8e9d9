package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/confetti-dp/confetti/client"
	"github.com/confetti-dp/confetti/envelope"
	"github.com/confetti-dp/confetti/internal/dp/fragment"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/internal/testkit/stattest"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/simulate"
)

// sample is a designed plan of one hop an instance, with its keys.
func sample(t testing.TB, bitsum string, instances, repetitions int) (plan.Plan, simulate.Keys) {
	t.Helper()
	p := plan.Plan{
		Version: plan.Version,
		Title:   "Where do people walk?",
		Question: plan.Question{Kind: "density", Unfit: "reference", Density: &plan.Density{
			Dimension:   3,
			Kernel:      plan.Kernel{Name: "gaussian", Bandwidth: 1, Seed: strings.Repeat("5a", 32)},
			Repetitions: repetitions,
			Bitsum:      plan.Bitsum{Name: bitsum, Accounting: "exact"},
		}},
		Budget:    plan.Budget{Epsilon: 2, Delta: 1e-5, Adjacency: "replacement", LabelEpsilon: 3},
		Crowd:     plan.Crowd{Names: []string{"hills", "shore"}, Minimum: 500},
		Envelopes: plan.Envelopes{Suite: "x25519"},
		Route:     plan.Route{Kind: "mix", Mix: &plan.Mix{Instances: make([]plan.Instance, instances)}},
		Analyzer:  plan.Party{Operator: "Research"},
	}
	for i := range p.Route.Mix.Instances {
		p.Route.Mix.Instances[i].Hops = []plan.Party{{Operator: "North"}}
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = design.Fill(p); err != nil {
		t.Fatal(err)
	}
	return p, keys
}

func open(t testing.TB, p plan.Plan) *client.Pipeline {
	t.Helper()
	c, err := client.Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func value(class int) question.Value {
	return density.Labelled{Features: []float32{0.5, -0.25, 0}, Class: class}
}

func report(t testing.TB, c *client.Pipeline) client.Sealed {
	t.Helper()
	contributions, err := c.Report(value(1))
	if err != nil {
		t.Fatal(err)
	}
	return contributions[0]
}

func TestRefusesAFalsePromise(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	p.Budget.Epsilon *= 0.9
	if _, err := client.Prepare(p); err == nil || !strings.Contains(err.Error(), "promise does not hold") {
		t.Errorf("error %v", err)
	}
}

func TestRefusesAKeyThatSealsNothing(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	p.Route.Mix.Instances[0].Hops[0] = plan.Party{Operator: "Nobody", Key: "x25519:short"}
	if _, err := client.Prepare(p); err == nil || !strings.Contains(err.Error(), "Nobody") {
		t.Errorf("error %v does not name the operator", err)
	}
}

// What the network sees of a device: the plan, an instance, a crowd, and bytes of the plan's one length. Its
// entry finds the plan's number of envelopes in it, of one length, no two of them alike.
func TestContributionHasTheShapeOfThePlan(t *testing.T) {
	for _, bitsum := range []string{"rr", "3nb"} {
		p, keys := sample(t, bitsum, 2, 3)
		c := open(t, p)
		size := envelope.X25519.Size(1, p.Envelopes.PayloadBytes)
		for range 8 {
			got := report(t, c)
			form, crowd, err := envelope.ParseForm(got.Body)
			if err != nil || got.Instance > 1 || got.Crowd > 1 || crowd != got.Crowd || form != example.Form(p, int(got.Instance)) {
				t.Errorf("%s: instance %d, crowd %d, %+v: %v", bitsum, got.Instance, got.Crowd, form, err)
			}
			envelopes, err := form.Open(keys.Hops[got.Instance][0], crowd, got.Body)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, e := range envelopes {
				if len(e) != size || seen[string(e[:32])] {
					t.Errorf("%s: an envelope of %d bytes (want %d), or one with another's encapsulated key", bitsum, len(e), size)
				}
				seen[string(e[:32])] = true
			}
		}
	}
}

// A contribution opens under the plan, instance and crowd it was sealed for, and an envelope in it at its hop
// too, and neither under another, though the keys are the same.
func TestEnvelopesOpenUnderTheirOwnPlanOnly(t *testing.T) {
	p, keys := sample(t, "rr", 1, 2)
	other := p
	other.Title += "?"
	if other.Hash() == p.Hash() {
		t.Fatal("two plans of one name")
	}
	sealed := report(t, open(t, p))
	entry, reader := keys.Hops[0][0], keys.Analyzer
	envelopes, err := example.Form(p, 0).Open(entry, sealed.Crowd, sealed.Body)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		plan     plan.Plan
		instance uint16
		hop      uint8
		crowd    uint32
		opens    bool
	}{
		"its own":          {p, 0, 1, sealed.Crowd, true},
		"another plan":     {other, 0, 1, sealed.Crowd, false},
		"another instance": {p, 1, 1, sealed.Crowd, false},
		"another hop":      {p, 0, 0, sealed.Crowd, false},
		"another crowd":    {p, 0, 1, 1 - sealed.Crowd, false},
	} {
		opener, err := envelope.NewOpener(reader, c.plan.Hash(), c.instance, c.hop, len(envelopes[0]))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opener.Open(c.crowd, envelopes[0]); (err == nil) != c.opens {
			t.Errorf("an envelope, %s: error %v", name, err)
		}
		form := example.Form(p, 0)
		form.Plan, form.Instance = c.plan.Hash(), c.instance
		if _, err := form.Open(entry, c.crowd, sealed.Body); (err == nil) != (c.opens || c.hop == 0) {
			t.Errorf("a contribution, %s: error %v", name, err)
		}
	}
}

// Every instance gets the same share of the devices, whatever they hold: 2,000
// reports over four instances tell a share of 0.25 from one of 0.34, nearly always.
func TestInstancesAreChosenUniformly(t *testing.T) {
	p, _ := sample(t, "rr", 4, 1)
	proto, err := protocol.New(p)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(proto, stattest.Rand(t))
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 4)
	for range 2000 {
		counts[report(t, c).Instance]++
	}
	stattest.GTest(t, []float64{0.25, 0.25, 0.25, 0.25}, counts)
	stattest.Caught(t, func(tb testing.TB) { stattest.GTest(tb, []float64{0.34, 0.22, 0.22, 0.22}, counts) })
}

func TestReportRefusesABadValueWithoutRepeatingIt(t *testing.T) {
	p, _ := sample(t, "rr", 1, 2)
	c := open(t, p)
	for _, v := range []question.Value{nil, 0.62517} {
		if got, err := c.Report(v); err == nil || len(got) > 0 || strings.Contains(err.Error(), "62517") {
			t.Errorf("%d contributions, error %v", len(got), err)
		}
	}
	for _, v := range []question.Value{density.Labelled{Features: []float32{0.62517}}, density.Labelled{Features: []float32{0.62517, 0, 0}, Class: 2}} {
		got, err := c.Report(v)
		if _, ok := errors.AsType[*client.OutOfDomainError](err); !ok || len(got) != 1 || len(got[0].Body) != example.Form(p, 0).Bytes() || strings.Contains(err.Error(), "62517") {
			t.Errorf("%d contributions, error %v", len(got), err)
		}
	}
}

// BenchmarkReport is a device's whole work for d = 768 and I = 768, its features
// expanded beforehand: without seals it is features, randomization and
// fragments.
func BenchmarkReport(b *testing.B) {
	const d = 768
	p, _ := sample(b, "rr", 1, 1)
	q := *p.Question.Density
	p.Question.Density = &q
	q.Dimension, q.Repetitions, p.Envelopes.PerDevice = d, d, d
	proto, err := protocol.New(p)
	if err != nil {
		b.Fatal(err)
	}
	x := make([]float32, d)
	x[0] = 1
	v := density.Labelled{Features: x}
	b.Run("unsealed", func(b *testing.B) {
		r := seeded.New(1)
		b.ReportAllocs()
		for b.Loop() {
			symbol, err := proto.Encode(v)
			if err != nil {
				b.Fatal(err)
			}
			report, err := proto.Randomize(r, symbol, nil)
			if err != nil {
				b.Fatal(err)
			}
			fragment.Pack(r, report.Parts[0], proto.Plan.Envelopes.PerDevice, proto.Plan.Envelopes.PayloadBytes)
		}
	})
	b.Run("sealed", func(b *testing.B) {
		c, err := client.New(proto, seeded.New(1))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Report(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
