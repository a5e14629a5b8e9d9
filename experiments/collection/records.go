package collection

import (
	"github.com/confetti-dp/confetti/dp/encode/cluster"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question/latent"
	"github.com/confetti-dp/confetti/question/law"
	"github.com/confetti-dp/confetti/release/findings"
	"github.com/confetti-dp/confetti/simulate"
)

// Records asks the training records of a data set for their public cluster and class jointly, both a
// secret though everyone colludes, through the whole flow.
type Records struct {
	Title    string
	Clusters []byte // the state: public clusters
	Budget   plan.Budget
	Minimum  int
	Full     bool // fidelity
	Seed     uint64
}

// Run collects and publishes, with the test records as public data.
func (c Records) Run(set *dataset.Set, progress simulate.Progress) (Learned, error) {
	var out Learned
	f, err := cluster.ParseFinder(c.Clusters)
	if err != nil {
		return out, err
	}
	p := experiments.Draft(plan.Question{Kind: "latent", Latent: &plan.Latent{Features: f.Inputs, Classes: set.Classes, Report: plan.LatentSymbols, Clusters: len(f.Sizes)}}, c.Budget, c.Minimum)
	p.Title = c.Title
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return out, err
	}
	p.State = plan.StateName(c.Clusters)
	if p, err = protocol.Design(p); err != nil {
		return out, err
	}
	proto, err := protocol.WithState(p, c.Clusters)
	if err != nil {
		return out, err
	}
	values := make(law.Values, set.Train.Len())
	for i := range values {
		values[i] = latent.Record{Features: set.Train.X.Data[i*set.Train.X.Stride:][:set.Train.X.Cols], Class: set.Train.Y[i]}
	}
	a, err := ask(proto, keys, values, c.Full, c.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Plan, out.Collection, out.Learned = p, a.Collection, a.learned
	out.Public = findings.Public{Truth: a.truth, Test: findings.Records{X: set.Test.X, Y: set.Test.Y}}
	out.Release, err = a.publish(proto, out.Public, c.Seed)
	out.Release.Synthetic = set.Synthetic
	return out, err
}
