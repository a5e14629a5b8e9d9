package collection

import (
	"errors"
	"fmt"

	"github.com/confetti-dp/confetti/dp/account"
	"github.com/confetti-dp/confetti/dp/encode/inputs"
	"github.com/confetti-dp/confetti/experiments"
	"github.com/confetti-dp/confetti/internal/dataset"
	"github.com/confetti-dp/confetti/learn/model"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/protocol"
	"github.com/confetti-dp/confetti/question"
	"github.com/confetti-dp/confetti/question/law"
	"github.com/confetti-dp/confetti/question/vector"
	"github.com/confetti-dp/confetti/release"
	"github.com/confetti-dp/confetti/release/findings"
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
	Public  findings.Public
	Model   *model.Model // nil without features
	simulate.Collection
}

// Run collects from the training records and publishes, with the test records as public data.
func (l Lesson) Run(set *dataset.Set, progress simulate.Progress) (Learned, error) {
	var out Learned
	if err := l.mapped(&set); err != nil {
		return out, err
	}
	p, keys, err := l.plan(set)
	if err != nil {
		return out, err
	}
	proto, err := protocol.New(p)
	if err != nil {
		return out, err
	}
	promise, err := proto.Promise()
	if err != nil {
		return out, err
	}
	a, err := ask(proto, keys, records(set.Train), l.Full, l.Seed, progress)
	if err != nil {
		return out, err
	}
	out.Collection, out.Learned = a.Collection, a.learned
	out.Plan, out.Promise, out.Public = p, promise.Shuffled, findings.Public{Truth: a.truth, Test: findings.Records{X: set.Test.X, Y: set.Test.Y}}
	if out.Release, err = a.publish(proto, out.Public, l.Seed); err != nil {
		return out, err
	}
	out.Release.Synthetic = set.Synthetic
	return out, l.file(&out)
}

// mapped takes the set's records to the features.
func (l Lesson) mapped(set **dataset.Set) error {
	if l.Features == nil {
		return nil
	}
	to := **set
	for _, part := range []*dataset.Labelled{&to.Train, &to.Test} {
		x := part.X
		y := x
		y.Cols, y.Stride = l.Features.Len(), l.Features.Len()
		y.Data = make([]float32, 0, y.Rows*y.Cols)
		for i := range x.Rows {
			psi, err := l.Features.OfNumbers(x.Data[i*x.Stride:][:x.Cols])
			if err != nil {
				return fmt.Errorf("record %d: %w", i+1, err)
			}
			y.Data = append(y.Data, psi...)
		}
		part.X = y
	}
	*set = &to
	return nil
}

func (l Lesson) plan(set *dataset.Set) (plan.Plan, simulate.Keys, error) {
	p := experiments.Draft(plan.Question{Kind: "vector", Vector: &plan.Vector{
		Features: set.Dimension(), Classes: set.Classes, Seed: experiments.PublicSeed(l.Seed),
		Rounds: []plan.VectorRound{{Sums: vector.Moments, Answered: l.Bits}},
	}}, l.Budget, l.Minimum)
	p.Title = l.Title
	p.Route = experiments.RouteOf(l.Noise, 1, experiments.Hops)
	keys, err := simulate.NewKeys(&p)
	if err != nil {
		return p, keys, err
	}
	p, err = protocol.Design(p)
	return p, keys, err
}

// records are as the respondents of a vector question hold them.
func records(l dataset.Labelled) law.Values {
	vs := make(law.Values, l.Len())
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
	linear, err := findings.NewLinear(sums, out.Public.Test.X)
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
