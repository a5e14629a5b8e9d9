// Package label asks for labels whose features are public (LDC): in the crowd of a public cluster, in a sum, or
// record by record. Used by question/all, protocol/design, internal/release/results and internal/simulate.
//
// The promise speaks of the label, and of nothing else about a respondent.
package label

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/account/calibrate"
	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
	"github.com/confetti-dp/confetti/question/vector"
)

// Record is the value of a label question. The class is private, the rest is public. The class
// need not fit (question.OutOfDomainError); features that lie in no cluster are refused, which tells
// what is public.
type Record struct {
	Features []float32 // of plan.LabelClusters and plan.LabelSums
	Number   int       // of plan.LabelEach: which public record it is
	Class    int       // index of the plan's classes
}

// Question is the plan's report, made runnable.
type Question struct {
	plan   plan.Plan
	ask    plan.Label
	report reporter
	state  cluster.Partition // of plan.LabelClusters; nil: what the plan promises is known, and nothing is answered
}

// reporter is a mechanism that the report goes by: a question of another kind, under whose
// replacement of an answer the answer is the label.
type reporter interface {
	Randomize(*rand.Rand, question.Symbol, question.Memory) (question.Report, error)
	NewTally() tally.Tally
	question.Accounting
}

// newQuestion makes the question of a valid plan runnable, but for its state.
func newQuestion(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Label}
	var err error
	switch q.ask.Report {
	case plan.LabelClusters:
		q.report, err = histogram.New(counted(p))
	case Resampled:
		q.report, err = newResampled(p)
	case plan.LabelSums:
		q.report, err = vector.New(summed(p))
	default:
		q.report, err = newEach(p)
	}
	return q, err
}

// counted returns the plan of a histogram of labels in each cluster.
func counted(p plan.Plan) plan.Plan {
	ask := p.Question.Label
	h := &plan.Histogram{Attributes: []plan.Attribute{{Name: "label", Kind: "categories", Values: ask.Classes}}}
	switch {
	case p.Route.Table != nil:
		h.Randomizer = plan.Randomizer{Name: plan.RandomizerNone, Accounting: string(calibrate.Exact)}
	case ask.Randomizer != nil:
		h.Randomizer = *ask.Randomizer
	}
	p.Question = plan.Question{Kind: "histogram", Unfit: p.Question.Unfit, Histogram: h}
	p.Budget.Adjacency, p.State = "replacement", ""
	return p
}

// summed returns the plan of a sum of features times label.
func summed(p plan.Plan) plan.Plan {
	ask := p.Question.Label
	v := &plan.Vector{Features: ask.Features, Classes: ask.Classes, Seed: ask.Seed}
	if ask.Sum != nil {
		v.Rounds = []plan.VectorRound{*ask.Sum}
	}
	p.Question, p.State = plan.Question{Kind: "vector", Unfit: p.Question.Unfit, Vector: v}, ""
	return p
}

// WithState returns the question with its clusters.
func (q *Question) WithState(text []byte) (question.Question, error) {
	switch r := q.report.(type) {
	case *each:
		return nil, errors.New("label: labels by themselves take no state: leave it out of the plan")
	case *vector.Question: // the map from what is given to features of length one
		with, err := r.WithState(text)
		if err != nil {
			return nil, err
		}
		return &Question{plan: q.plan, ask: q.ask, report: with.(*vector.Question)}, nil
	}
	s, err := cluster.Read(text)
	if err != nil {
		return nil, err
	}
	if s.Len() != q.ask.Clusters || s.Features() != q.ask.Features {
		return nil, fmt.Errorf("label: the state has %d clusters of %d features, and the plan %d of %d", s.Len(), s.Features(), q.ask.Clusters, q.ask.Features)
	}
	with := *q
	with.state = s
	return &with, nil
}

var errStateless = errors.New("label: the clusters are missing: fetch the state that the plan names")

// Encode finds the cluster, or the vector, or the record.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	r, ok := v.(Record)
	if !ok {
		return nil, fmt.Errorf("label: a label question takes Record values, not %T", v)
	}
	if m, ok := q.report.(*each); ok {
		if err := q.public(r); err != nil {
			return nil, err
		}
		return m.encode(r)
	}
	inner, err := q.InnerValue(r)
	if err != nil {
		return nil, err
	}
	return q.Inner().Encode(inner)
}

// public says what of a record's public part does not fit.
func (q *Question) public(r Record) error {
	if q.ask.Report == plan.LabelEach {
		if r.Number < 0 || r.Number >= q.ask.Records {
			return fmt.Errorf("label: the record is none of the plan's %d", q.ask.Records)
		}
		return nil
	}
	if q.ask.Report == plan.LabelSums { // what does not fit counts as the zero vector
		return nil
	}
	if len(r.Features) != q.ask.Features {
		return fmt.Errorf("label: %d features, and the plan has %d", len(r.Features), q.ask.Features)
	}
	squares := float32(0)
	for i, x := range r.Features {
		if squares += x * x; squares-squares != 0 {
			return fmt.Errorf("label: feature %d is not finite, or too large", i+1)
		}
	}
	return nil
}

// name returns that of a class; nil, which is no answer, of none.
func (q *Question) name(class int) any {
	if class < 0 || class >= len(q.ask.Classes) {
		return nil
	}
	return q.ask.Classes[class]
}

// Randomize returns the report's.
func (q *Question) Randomize(r *rand.Rand, s question.Symbol, m question.Memory) (question.Report, error) {
	return q.report.Randomize(r, s, m)
}

// NewTally returns the report's.
func (q *Question) NewTally() tally.Tally { return q.report.NewTally() }

// Inner returns the question of another kind that the report goes by; nil of labels by themselves.
func (q *Question) Inner() question.Question {
	if r, is := q.report.(*resampled); is {
		return r.Question
	}
	inner, _ := q.report.(question.Question)
	return inner
}

// InnerPlan returns the plan of Inner.
func (q *Question) InnerPlan() plan.Plan {
	if q.ask.Report == plan.LabelSums {
		return summed(q.plan)
	}
	return counted(q.plan)
}

// InnerValue returns what Inner is asked of a record.
func (q *Question) InnerValue(r Record) (question.Value, error) {
	if err := q.public(r); err != nil {
		return nil, err
	}
	if q.ask.Report == plan.LabelSums {
		return vector.Record{Features: r.Features, Class: r.Class}, nil
	}
	if q.state == nil {
		return nil, errStateless
	}
	return histogram.Answers{Crowd: q.state.Nearest(r.Features), Values: []any{q.name(r.Class)}}, nil
}
