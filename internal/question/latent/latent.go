// Package latent asks for records that are a secret as a whole, features and class, where nobody is trusted (LTN).
// Used by question/all, protocol/design, internal/release/results and internal/simulate.
//
// A device encodes its record by a public state, and all that it says of it keeps one local epsilon.
package latent

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/confetti-dp/confetti/internal/dp/encode/cluster"
	"github.com/confetti-dp/confetti/internal/dp/latent"
	"github.com/confetti-dp/confetti/internal/dp/tally"
	"github.com/confetti-dp/confetti/internal/question"
	"github.com/confetti-dp/confetti/plan"
	"github.com/confetti-dp/confetti/question/histogram"
)

// Record is the value of a latent question. The crowd is public, the rest is private: numbers
// that are not finite, and a class that is none of the plan's, do not fit (question.OutOfDomainError).
type Record struct {
	Crowd    int // of the plan's groups; 0 where there are none
	Features []float32
	Class    int // index of the plan's classes; 0 where there are none
	Number   int // which of the plan's public records it is; 0 where these have no numbers
}

// Question is the plan's report, made runnable.
type Question struct {
	plan    plan.Plan
	ask     plan.Latent
	report  reporter
	finder  *cluster.Finder // of symbols; nil, and no encoder: what the plan promises is known, and nothing is answered
	encoder *latent.Encoder // of vectors
}

// reporter is a mechanism that the report goes by.
type reporter interface {
	Randomize(*rand.Rand, question.Symbol, question.Memory) (question.Report, error)
	NewTally() tally.Tally
	question.Accounting
}

// New makes the question of a valid plan runnable, but for its state.
func New(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Latent}
	var err error
	switch {
	case q.ask.Records > 0:
		q.report, err = newNumbered(p)
	case q.ask.Report == plan.LatentVector:
		q.report, err = newVectors(p)
	default:
		q.report, err = histogram.New(counted(p))
	}
	return q, err
}

// counted returns the plan of a histogram of symbols.
func counted(p plan.Plan) plan.Plan {
	ask := p.Question.Latent
	h := &plan.Histogram{Attributes: []plan.Attribute{{Name: "symbol", Kind: "categories", Size: symbols(ask)}}}
	if ask.Randomizer != nil {
		h.Randomizer = *ask.Randomizer
	}
	p.Question, p.State = plan.Question{Kind: "histogram", Unfit: p.Question.Unfit, Histogram: h}, ""
	return p
}

// symbols returns how many there are: of cluster c and class y of k, the symbol is c k + y; of whether the class is
// right, it is 1 where it is.
func symbols(ask *plan.Latent) int {
	if ask.Report == plan.LatentRight {
		return 2
	}
	return ask.Clusters * max(1, len(ask.Classes))
}

// WithState returns the question with its clusters, or its encoder.
func (q *Question) WithState(text []byte) (question.Question, error) {
	with := *q
	if q.ask.Report == plan.LatentVector {
		e, err := latent.ParseEncoder(text)
		if err != nil {
			return nil, err
		}
		z := q.ask.Vector
		if e.Dim() != z.Dim || e.Inputs() != q.ask.Features || z.Mechanism == latent.NameLaplace && z.Length != e.Length {
			return nil, fmt.Errorf("latent: the state takes %d numbers to %d in a ball of %v, and the plan %d to %d in one of %v", e.Inputs(), e.Dim(), e.Length, q.ask.Features, z.Dim, z.Length)
		}
		with.encoder = e
		return &with, nil
	}
	f, err := cluster.ParseFinder(text)
	if err != nil {
		return nil, err
	}
	if len(f.Sizes) != q.ask.Clusters || f.Inputs != q.ask.Features {
		return nil, fmt.Errorf("latent: the state has %d clusters of records of %d numbers, and the plan %d of %d", len(f.Sizes), f.Inputs, q.ask.Clusters, q.ask.Features)
	}
	with.finder = f
	return &with, nil
}

var errStateless = errors.New("latent: the clusters, or the encoder, are missing: fetch the state that the plan names")

// Encode finds the symbol.
func (q *Question) Encode(v question.Value) (question.Symbol, error) {
	r, ok := v.(Record)
	if !ok {
		return nil, fmt.Errorf("latent: a latent question takes Record values, not %T", v)
	}
	if err := q.width(r); err != nil {
		return nil, err
	}
	if n, ok := q.report.(*numbered); ok {
		return q.encodeNumbered(n, r)
	}
	if q.ask.Report == plan.LatentVector {
		return q.encodeVector(r)
	}
	inner, err := q.InnerValue(r)
	if err != nil {
		return nil, err
	}
	return q.Inner().Encode(inner)
}

// Inner returns the histogram of symbols that the question goes by, nil of vectors and of numbered records; InnerPlan is
// its plan.
func (q *Question) Inner() *histogram.Question {
	h, _ := q.report.(*histogram.Question)
	return h
}

// InnerPlan returns the plan of Inner.
func (q *Question) InnerPlan() plan.Plan { return counted(q.plan) }

// width refuses a record of other columns than the plan's.
func (q *Question) width(r Record) error {
	if len(r.Features) != q.ask.Features {
		return fmt.Errorf("latent: a record of %d numbers, and the plan has %d", len(r.Features), q.ask.Features)
	}
	return nil
}

// InnerValue returns what Inner is asked of a record; the symbol -1, which does not fit, of one that
// has none.
func (q *Question) InnerValue(r Record) (histogram.Answers, error) {
	if err := q.width(r); err != nil {
		return histogram.Answers{}, err
	}
	symbol, err := q.symbol(r)
	if err != nil {
		return histogram.Answers{}, err
	}
	return histogram.Answers{Crowd: r.Crowd, Values: []any{symbol}}, nil
}

var errNoSymbol = errors.New("latent: the record lies in no cluster, or its class is none of the plan's")

// symbol returns a record's; -1 of one that has none.
func (q *Question) symbol(r Record) (int, error) {
	if q.finder == nil {
		return 0, errStateless
	}
	k := max(1, len(q.ask.Classes))
	c, ok := q.finder.Find(r.Features)
	switch {
	case !ok || r.Class < 0 || r.Class >= k:
		return -1, nil
	case q.ask.Report != plan.LatentRight:
		return c*k + r.Class, nil
	case c == r.Class:
		return 1, nil
	}
	return 0, nil
}

// Randomize returns the report's.
func (q *Question) Randomize(r *rand.Rand, s question.Symbol, m question.Memory) (question.Report, error) {
	return q.report.Randomize(r, s, m)
}

// NewTally returns the report's.
func (q *Question) NewTally() tally.Tally { return q.report.NewTally() }
