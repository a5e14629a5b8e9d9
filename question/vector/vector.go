// Package vector asks for sums of vectors of norm at most one, of which each device answers few rotated coordinates
// in secret (docs/secret-rows.md). Used by question/all, protocol/design, internal/question/label and
// internal/release/results.
//
// Vectors are made of features and a class or a number. The sums teach classifiers and regressions
// (docs/learning.md).
package vector

import (
	"fmt"

	"github.com/confetti-dp/confetti/internal/dp/encode"
	"github.com/confetti-dp/confetti/internal/dp/vector"
	"github.com/confetti-dp/confetti/internal/dp/vector/features"
	"github.com/confetti-dp/confetti/plan"
)

// Record is the value of a vector question. All parts are private, and none has to fit
// (question.OutOfDomainError).
type Record struct {
	Features []float32 // as the public map takes them, or without one as the plan counts them
	Class    int       // index of the plan's classes; of no account where it names none
	Number   float64   // the plan's; of no account where it has none
	Text     string    // in the place of Features, where the public map takes texts
}

// Question is a round of a plan, made runnable.
type Question struct {
	plan  plan.Plan
	ask   plan.Vector
	round plan.VectorRound
	specs []vector.Spec // of every round that differs from others
	state *State        // nil: none
	rows  *vector.Mechanism
	whole *vector.Whole // where the length of vectors is proved, and rows is nil
}

// New makes the question of a valid plan runnable: of its round, or where it is by itself, of
// the first.
func New(p plan.Plan) (*Question, error) {
	q := &Question{plan: p, ask: *p.Question.Vector}
	if p.Route.Sum.AggregatorNoise() {
		q.round = q.ask.Rounds[q.at()]
		var err error
		q.whole, err = wholeOf(p, q.round)
		return q, err
	}
	for _, r := range q.ask.Rounds {
		spec, err := specOf(p, r)
		if err != nil {
			return nil, err
		}
		q.specs = append(q.specs, spec)
	}
	at := q.at()
	q.round = q.ask.Rounds[at]
	var err error
	q.rows, err = vector.New(q.specs[at])
	return q, err
}

// at returns the index of this round among those that the plan describes; the last stands for all later ones.
func (q *Question) at() int {
	if q.plan.Round == nil {
		return 0
	}
	return min(q.plan.Round.Number, len(q.ask.Rounds)) - 1
}

// shape returns that of the plan's features and classes.
func shape(v plan.Vector) features.Shape {
	return features.Shape{Dimension: v.Features, Classes: len(v.Classes)}
}

// squares returns those of the plan's features and its number.
func squares(v plan.Vector) features.Squares { return features.Squares{Dimension: v.Features} }

// layout returns the length of a round's vectors, and the largest squared distance of two; of two
// with the same features, where these are public.
func layout(v plan.Vector, sums string, public bool) (length int, squaredDistance float64) {
	s := shape(v)
	switch sums {
	case plan.SumsFeatures:
		return v.Features, 4
	case plan.SumsClasses:
		if public {
			return s.ClassLen(), s.LabelDistance()
		}
		return s.ClassLen(), features.ClassDistance
	case plan.SumsMoments:
		return s.Len(), features.SquaredDistance()
	case plan.SumsSquares:
		return squares(v).Len(), features.SquaresDistance
	}
	return s.GradientLen(), features.GradientDistance
}

// SquaredDistance returns the largest squared distance of two vectors of the round, before they are rounded.
func (q *Question) SquaredDistance() float64 {
	_, distance := layout(q.ask, q.round.Sums, publicFeatures(q.plan))
	return distance
}

// publicFeatures says that the promise speaks of the class alone.
func publicFeatures(p plan.Plan) bool { return p.Budget.Adjacency == plan.AdjacencyLabel }

// specOf returns the mechanism of a round.
func specOf(p plan.Plan, r plan.VectorRound) (vector.Spec, error) {
	v := *p.Question.Vector
	length, distance := layout(v, r.Sums, publicFeatures(p))
	s := vector.Spec{
		Dimension: length, Rows: r.Rows, Answered: r.Answered, Envelopes: min(p.MostMessages(), r.Rows),
		Clip: r.Clip, Flip: r.Flip, SquaredDistance: distance, Rare: r.Rare,
	}
	var err error
	if s.Seed, err = encode.ParseSeed(v.Seed); err != nil {
		return s, fmt.Errorf("vector: the rotation: %w", err)
	}
	return s, s.Validate()
}

// wholeOf returns the mechanism of a round whose vectors are proved. Those of all rounds are as long as the longest of
// them.
func wholeOf(p plan.Plan, r plan.VectorRound) (*vector.Whole, error) {
	seed, err := encode.ParseSeed(p.Question.Vector.Seed)
	if err != nil {
		return nil, fmt.Errorf("vector: the rotation: %w", err)
	}
	length, _ := layout(*p.Question.Vector, r.Sums, publicFeatures(p))
	longest := length
	for _, other := range p.Question.Vector.Rounds {
		n, _ := layout(*p.Question.Vector, other.Sums, publicFeatures(p))
		longest = max(longest, n)
	}
	return vector.NewWhole(length, vector.LeastRows(longest, 1), r.Steps, seed)
}

// Rows returns the mechanism of this round; nil where the length of vectors is proved.
func (q *Question) Rows() *vector.Mechanism { return q.rows }

// spec describes it.
func (q *Question) spec() vector.Spec { return q.rows.Spec() }

// overlap returns how alike vectors are guessed to be: of one class where there are classes,
// else all. Those of squares all are, as each has the square of a constant.
func overlap(v plan.Vector, r plan.VectorRound) vector.Overlap {
	if r.Sums == plan.SumsSquares {
		return vector.Alike(1, r.Alike)
	}
	return vector.Alike(1/float64(max(1, len(v.Classes))), r.Alike)
}
