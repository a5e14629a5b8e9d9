package collection

import (
	"errors"
	"math"
	"slices"

	"github.com/confetti-dp/confetti/account"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/internal/dp/encode/inputs"
	"github.com/confetti-dp/confetti/internal/learn/model"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/internal/release/results"
	"github.com/confetti-dp/confetti/internal/seeded"
	"github.com/confetti-dp/confetti/internal/simulate/distribution"
	"github.com/confetti-dp/confetti/internal/simulate/measure"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/protocol/design"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/simulate"
)

// Lesson asks the training records of a data set for the sums that a classifier is learned
// from, in one round through the whole flow.
type Lesson struct {
	Title    string
	Features *inputs.Map // by public numbers; nil: records are scaled to unit length
	Bits     int         // that a device answers, on average
	Budget   plan.Budget
	Minimum  int
	Full     bool   // fidelity
	Noise    string // who adds that of a sum; empty: answers are mixed
	Seed     uint64
}

// Learned is what a lesson gives.
type Learned struct {
	Plan    plan.Plan
	Release release.Release
	Promise account.Guarantee
	Learned question.Model
	Public  results.Public
	Model   *model.Model // nil without features
	simulate.Collection
}

// Run collects from the training records and publishes, with the test records as public data.
func (l Lesson) Run(set *dataset.Set, progress simulate.Progress) (Learned, error) {
	var out Learned
	p, keys, state, err := l.plan(set)
	if err != nil {
		return out, err
	}
	proto, err := runnable(p, state)
	if err != nil {
		return out, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return out, err
	}
	a, err := ask(proto, keys, records(set.Train), l.Full, simulate.Bounded{}, l.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Collection, out.Learned = a.Collection, a.learned
	out.Plan, out.Promise, out.Public = p, promise.Shuffled, results.Public{Truth: a.truth, Test: results.Records{X: set.Test.X, Y: set.Test.Y}}
	if out.Release, err = a.publish(proto, out.Public, l.Seed); err != nil {
		return out, err
	}
	out.Release.Synthetic = set.Synthetic
	return out, l.file(&out)
}

// plan asks with the public map as its state, where there is one.
func (l Lesson) plan(set *dataset.Set) (p plan.Plan, keys simulate.Keys, state []byte, err error) {
	v := &plan.Vector{Features: set.Dimension(), Classes: set.Classes, Seed: measure.PublicSeed(l.Seed),
		Rounds: []plan.VectorRound{{Sums: plan.SumsMoments, Answered: l.Bits}}}
	if l.Features != nil {
		state, v.Features = l.Features.State(), l.Features.Len()
	}
	p = measure.Draft(plan.Question{Kind: "vector", Vector: v}, l.Budget, l.Minimum)
	p.Title = l.Title
	p.Route = measure.RouteOf(l.Noise, 1, measure.Hops)
	if keys, err = simulate.NewKeys(&p); err != nil {
		return p, keys, nil, err
	}
	if p, err = design.Fill(p); state != nil {
		p.State = plan.StateName(state)
	}
	return p, keys, state, err
}

func runnable(p plan.Plan, state []byte) (*protocol.Protocol, error) {
	if state == nil {
		return protocol.New(p)
	}
	return protocol.WithState(p, state)
}

// Central returns the accuracy of the same learner from the exact sums with a curator's Gaussian noise, of
// the same promise: what trusting somebody with everything would have given.
func (l Lesson) Central(out Learned) (float64, error) {
	box, err := account.NewBox(l.Budget.Epsilon, l.Budget.Delta, 1e-9)
	if err != nil {
		return 0, err
	}
	proto, err := protocol.New(out.Plan)
	if err != nil {
		return 0, err
	}
	deviation := math.Sqrt(proto.Question.(*vector.Question).SquaredDistance()) / box.Shift
	sum, r := slices.Clone(out.Public.Truth.Sum), seeded.New(l.Seed, forCurator)
	for i := range sum {
		sum[i] += deviation * r.NormFloat64()
	}
	return results.Accuracy(out.Learned.(*vector.Model), sum, deviation, out.Public.Test)
}

const forCurator = 7 // a stream of randomness

// records are as the respondents of a vector question hold them.
func records(l dataset.Labelled) distribution.Values {
	vs := make(distribution.Values, l.Len())
	for i := range vs {
		vs[i] = vector.Record{Features: l.X.Data[i*l.X.Stride : i*l.X.Stride+l.X.Cols], Class: l.Y[i]}
	}
	return vs
}

// file is the model as a file has it.
func (l Lesson) file(out *Learned) error {
	sums := out.Learned.(*vector.Model)
	if sums.Respondents == 0 {
		return errors.New("the collection was withheld: too few respondents")
	}
	if l.Features == nil {
		return nil
	}
	linear, err := results.NewLinear(sums, out.Public.Test.X)
	if err != nil {
		return err
	}
	wrong, err := linear.Wrong(out.Public.Test)
	if err != nil {
		return err
	}
	accuracy := Metric(out.Release, "accuracy")
	out.Model = &model.Model{Title: l.Title, Features: *l.Features, Classes: linear.Classes, Linear: linear.Linear,
		Promise: model.Promise{Epsilon: out.Promise.Epsilon, Delta: out.Promise.Delta, Adjacency: string(out.Promise.Adjacency), Trust: string(out.Promise.Trust), Method: out.Promise.Method,
			Rounds: out.Promise.Rounds, Respondents: sums.Respondents},
		Tested: &model.Tested{Records: len(out.Public.Test.Y), Measure: accuracy.Name, Value: accuracy.Value, Low: accuracy.Low, High: accuracy.High, Wrong: wrong}}
	return nil
}
