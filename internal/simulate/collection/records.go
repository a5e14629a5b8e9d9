package collection

import (
	"fmt"
	"slices"

	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	device "github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/question/latent"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Records asks the training records of a data set for their public cluster and class jointly, or for the
// vector of a public encoder beside the class, all a secret though everyone colludes, through the whole flow.
type Records struct {
	Title   string
	State   []byte        // public clusters, or an encoder where Vector is there
	Vector  *plan.Latents // mechanism and, unless it is left to the design, the vector's epsilon; nil: symbols
	Budget  plan.Budget
	Minimum int
	Full    bool // fidelity
	Seed    uint64
	Numbers []int // of the training records, where each report stands beside its own; nil: these have none
}

// Run collects and publishes, with the test records as public data.
func (c Records) Run(set *dataset.Set, progress simulate.Progress) (Learned, error) {
	var out Learned
	asked, err := c.asked()
	if err != nil {
		return out, err
	}
	if n := set.Dimension(); n != asked.Features {
		return out, fmt.Errorf("it takes records of %d numbers, and these have %d: give the columns that it was made of (--features, --drop)", asked.Features, n)
	}
	if asked.Classes = set.Classes; c.Numbers != nil {
		asked.Records = slices.Max(c.Numbers) + 1
	}
	p := measure.Draft(plan.Question{Kind: "latent", Latent: &asked}, c.Budget, c.Minimum)
	p.Title = c.Title
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return out, err
	}
	p.State = plan.StateName(c.State)
	if p, err = design.Fill(p); err != nil {
		return out, err
	}
	proto, err := protocol.WithState(p, c.State)
	if err != nil {
		return out, err
	}
	values := make(distribution.Values, set.Train.Len())
	for i := range values {
		r := latent.Record{Features: set.Train.X.Data[i*set.Train.X.Stride:][:set.Train.X.Cols], Class: set.Train.Y[i]}
		if c.Numbers != nil {
			r.Number = c.Numbers[i]
		}
		values[i] = r
	}
	a, err := ask(proto, keys, values, c.Full, simulate.Bounded{}, c.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Collection, out.Learned = p, a.Collection, a.learned
	out.Public = results.Public{Truth: a.truth, Test: results.Records{X: set.Test.X, Y: set.Test.Y}}
	if out.Release, err = a.publish(proto, out.Public, c.Seed); err != nil {
		return out, err
	}
	out.Release.Synthetic = set.Synthetic
	if Metric(out.Release, "accuracy").Name == "" {
		return out, nil
	}
	without, err := results.LatentAccuracy(out.Learned.(*latent.Model), results.Records{X: set.Train.X, Y: set.Train.Y}, out.Public.Test)
	if err != nil {
		return out, err
	}
	out.Release.Headline = append(out.Release.Headline, release.Metric{Name: "accuracy_no_privacy", Value: without})
	return out, results.Words(p, proto.Question, &out.Release)
}

// asked returns the section that the state is for, but for the classes.
func (c Records) asked() (plan.Latent, error) {
	if c.Vector == nil {
		f, err := cluster.ParseFinder(c.State)
		if err != nil {
			return plan.Latent{}, err
		}
		return plan.Latent{Features: f.Inputs, Report: plan.LatentSymbols, Clusters: len(f.Sizes)}, nil
	}
	e, err := device.ParseEncoder(c.State)
	if err != nil {
		return plan.Latent{}, err
	}
	z := *c.Vector
	if c.Numbers != nil { // no class shares the epsilon
		z.Epsilon = 0
	}
	z.Dim, z.Length = e.Dim(), e.Ball(z.Mechanism)
	return plan.Latent{Features: e.Inputs(), Report: plan.LatentVector, Vector: &z}, nil
}
