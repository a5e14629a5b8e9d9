package audit

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	dplatent "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/nn"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/testkit/example"
	"github.com/confetti-dp/confetti/plan"
)

// threeClusters is a public state of clusters about (0,0), (10,0) and (0,10).
func threeClusters(t testing.TB) []byte {
	t.Helper()
	s := &cluster.State{Centres: blas32.General{Rows: 3, Cols: 2, Stride: 2, Data: []float32{0, 0, 10, 0, 0, 10}}, Sizes: []int{300, 200, 100}}
	if err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	return s.Marshal()
}

// encoder is a public state that makes two numbers of three, of weights that are large.
func encoder(t testing.TB) []byte {
	t.Helper()
	net, err := nn.New(seeded.New(1), nn.Dense{In: 3, Out: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i := range net.Params {
		net.Params[i] *= 100
	}
	e := &dplatent.Encoder{
		Net: net, Length: 4, Prototypes: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 4)},
		Sizes: []int{1, 1}, Trained: dplatent.Trained{Claim: dplatent.ClaimPublic},
	}
	state, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// labelled is a plan of labels whose features are public.
func labelled(t testing.TB, ask plan.Label, state []byte) plan.Plan {
	t.Helper()
	p := example.Density("rr")
	ask.Classes = []string{"a", "b", "c"}
	p.Question = plan.Question{Kind: "label", Unfit: "reference", Label: &ask}
	p.Budget = plan.Budget{Epsilon: 2, Delta: 1e-3, Adjacency: plan.AdjacencyLabel}
	p.Crowd = plan.Crowd{Minimum: 40}
	if state != nil {
		p.State = plan.StateName(state)
	}
	return example.Design(t, p)
}

// ofLatents is a plan of records that a public state encodes.
func ofLatents(t testing.TB, ask plan.Latent, state []byte) plan.Plan {
	t.Helper()
	p := example.Density("rr")
	p.Question = plan.Question{Kind: "latent", Unfit: "reference", Latent: &ask}
	p.Budget = plan.Budget{LocalEpsilon: 3, Delta: 1e-3, Adjacency: "replacement"}
	p.Crowd, p.State = plan.Crowd{Minimum: 40}, plan.StateName(state)
	return example.Design(t, p)
}

type stated struct {
	plan  plan.Plan
	state []byte
}

// overStates are plans that go by another kind of question, or name a state.
func overStates(t testing.TB) map[string]stated {
	clusters, net := threeClusters(t), encoder(t)
	vector := plan.Latents{Mechanism: dplatent.NameLaplace, Dim: 2, Length: 4}
	gaussian := plan.Latents{Mechanism: dplatent.NameGaussian, Dim: 2, Length: 4}
	return map[string]stated{
		"labels, each":     {labelled(t, plan.Label{Report: plan.LabelEach, Records: 50}, nil), nil},
		"labels, clusters": {labelled(t, plan.Label{Report: plan.LabelClusters, Features: 2, Clusters: 3}, clusters), clusters},
		"labels, sums":     {labelled(t, plan.Label{Report: plan.LabelSums, Features: 4, Seed: example.Seed}, nil), nil},
		"symbols":          {ofLatents(t, plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentSymbols, Clusters: 3}, clusters), clusters},
		"vectors":          {ofLatents(t, plan.Latent{Features: 3, Classes: []string{"a", "b"}, Report: plan.LatentVector, Vector: &vector}, net), net},
		"gaussian":         {ofLatents(t, plan.Latent{Features: 3, Classes: []string{"a", "b"}, Report: plan.LatentVector, Vector: &gaussian}, net), net},
		"numbered":         {ofLatents(t, plan.Latent{Features: 2, Classes: []string{"a", "b"}, Report: plan.LatentSymbols, Clusters: 3, Records: 50}, clusters), clusters},
	}
}

// Plans of labels and of latent records are attacked before each observer, in the state that they name.
func TestPlansOverOthersAreAttacked(t *testing.T) {
	for name, s := range overStates(t) {
		t.Run(name, func(t *testing.T) {
			r, err := NewRoute(s.plan, Rounds{State: s.state}, seed(t))
			if err != nil {
				t.Fatal(err)
			}
			all, err := r.Attack(2048, seed(t), calm)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range all {
				t.Logf("%s: %.3g of %.3g", f.Observer, f.Lower, f.Claimed.Epsilon)
				holds(t, f)
			}
			least := 0.4
			if name == "gaussian" { // a part of its claim is in reports that are as rare as its delta
				least = 0.3
			}
			if !slices.ContainsFunc(all, func(f Finding) bool {
				return f.Observer == account.EveryoneColludes && f.Lower > least*f.Claimed.Epsilon
			}) {
				t.Error("little is found of what one device says")
			}
			constants, err := r.Constants(seed(t), calm)
			if err != nil || len(constants) < 4 {
				t.Errorf("%d constants: %v", len(constants), err)
			}
			for _, c := range constants {
				t.Logf("%s: %s: %d draws, p = %.3g", c.Party, c.Says, c.Draws, c.P)
				if c.False() {
					t.Errorf("%s: %s: %s", c.Party, c.Says, c.Verdict)
				}
			}
		})
	}
}
