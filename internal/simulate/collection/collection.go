// Package collection simulates one collection from a plan to a release, and compares it with the truth. Used by
// cmd/confetti/internal/collect.
package collection

import (
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/density"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Collection asks the training records of a data set one density question
// through the whole flow: plan, devices, shuffler, analyzer, release.
type Collection struct {
	Title       string
	Kernel      plan.Kernel // its seed follows from Seed
	Repetitions int
	Normalize   bool
	Bitsum      string // "rr", "3nb"
	Accounting  string // "exact", "paper"
	Budget      plan.Budget
	Minimum     int    // smallest crowd that is released
	Noise       string // who adds that of a sum; empty: answers are mixed
	Instances   int
	Hops        int
	Suite       string
	Full        bool // fidelity: every fragment sealed, mixed and opened; otherwise totals from their law
	Seed        uint64
}

// Collected is what a collection gives.
type Collected struct {
	Plan    plan.Plan
	Release release.Release
	Learned question.Model
	Model   *results.Classifier
	Public  results.Public
	simulate.Collection
}

// Run collects from the training records and publishes, with the set's test
// records and words as public data.
func (c Collection) Run(set *dataset.Set, progress simulate.Progress) (Collected, error) {
	var out Collected
	p, keys, err := c.plan(set)
	if err != nil {
		return out, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return out, err
	}
	a, err := ask(proto, keys, values(set.Train), c.Full, simulate.Bounded{}, c.Seed, progress)
	if err != nil {
		return out, err
	}
	model, err := results.NewClassifier(a.learned.(*density.Model))
	if err != nil {
		return out, err
	}
	public := results.Public{Truth: a.truth, Words: set.Words, WordVectors: set.WordX, Test: results.Records{X: set.Test.X, Y: set.Test.Y}}
	if c.Budget.LabelEpsilon == plan.Unprotected { // otherwise crowds are of randomized classes
		public.Came = set.Train.Counts(len(set.Classes))
	}
	r, err := a.publish(proto, public, c.Seed)
	r.Synthetic = set.Synthetic
	return Collected{Plan: p, Collection: a.Collection, Release: r, Learned: a.learned, Model: model, Public: public}, err
}

// plan returns the collection's plan, noise calibrated and keys made.
func (c Collection) plan(set *dataset.Set) (plan.Plan, simulate.Keys, error) {
	p := plan.Plan{
		Version: plan.Version, Title: c.Title,
		Question: plan.Question{Kind: "density", Unfit: plan.UnfitReference, Density: &plan.Density{
			Dimension: set.Dimension(), Normalize: c.Normalize,
			Kernel:      c.Kernel,
			Repetitions: c.Repetitions,
			Bitsum:      plan.Bitsum{Name: c.Bitsum, Accounting: c.Accounting},
		}},
		Budget:    c.Budget,
		Crowd:     plan.Crowd{Names: set.Classes, Minimum: c.Minimum},
		Envelopes: plan.Envelopes{Suite: c.Suite},
		Route:     measure.RouteOf(c.Noise, c.Instances, c.Hops),
		Analyzer:  plan.Party{Operator: "analyzer"},
	}
	p.Question.Density.Kernel.Seed = measure.PublicSeed(c.Seed)
	if p.Question.Density.Bitsum.Divided() && c.Noise == "" {
		p.Crowd.Maximum = max(c.Minimum, set.Train.X.Rows) // all are to count
	}
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return p, keys, err
	}
	p, err = design.Fill(p)
	return p, keys, err
}

// values are labelled records as the respondents of a density question hold them.
func values(l dataset.Labelled) []question.Value {
	vs := make([]question.Value, l.Len())
	for i := range vs {
		vs[i] = density.Labelled{Features: l.X.Data[i*l.X.Stride : i*l.X.Stride+l.X.Cols], Class: l.Y[i]}
	}
	return vs
}
